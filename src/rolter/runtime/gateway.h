#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rolter/admin/admin_server.h"
#include "rolter/base/error.h"
#include "rolter/config/config.h"
#include "rolter/feeds/name_resolution.h"
#include "rolter/proxy/local_answers.h"
#include "rolter/proxy/state_builder.h"
#include "rolter/runtime/cache_losses.h"
#include "rolter/runtime/control_feeds.h"
#include "rolter/runtime/drain_wait.h"
#include "rolter/runtime/event_loop.h"
#include "rolter/runtime/index_store.h"
#include "rolter/runtime/kv_events.h"
#include "rolter/runtime/logs.h"
#include "rolter/runtime/loop_thread.h"
#include "rolter/runtime/system_clock.h"
#include "rolter/runtime/tokenizing.h"
#include "rolter/telemetry/metrics_registry.h"

namespace rolter::runtime {

/// How a gateway ended.
enum class DrainResult : std::uint8_t {
  kComplete,  // every answer was finished
  kCut,       // some were still under way at the end of drain_secs
};

/// The whole gateway in one object: made from a configuration, started, reloaded, drained. `rolter
/// serve` runs one; tests and the demo run several in a process. The public functions are for one
/// thread that is none of the gateway's own.
class Gateway {
 public:
  /// `reload`, if any, serves POST /admin/reload; see admin::Reload.
  explicit Gateway(config::Config config, admin::Reload reload = nullptr);
  ~Gateway();
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;

  /// Resolves names and reads the replicas' load (for at most two seconds each), listens and
  /// serves. The error names the address.
  /// On `sockets` instead of [server] host and port when there are any: listening sockets that the
  /// process was started with, which stay open for the next one.
  [[nodiscard]] Result<void> start(const std::vector<int>& sockets = {});

  /// "http://H:P" of the API, with the real port when 0 was configured.
  [[nodiscard]] std::string url() const;
  [[nodiscard]] std::uint16_t port() const { return port_; }

  /// "http://H:P" of the admin listener; "" when it could not be opened (and was not asked for).
  [[nodiscard]] std::string admin_url() const;
  [[nodiscard]] std::uint16_t admin_port() const { return admin_port_; }

  /// Replaces the configuration, whole or not at all. Requests under way finish with the old one.
  [[nodiscard]] Result<void> reload(config::Config config);

  /// A file that could not even be read as a configuration: counted as a refused reload.
  void reload_refused();

  /// Not ready at once, then after drain_settle no longer listening, then at most drain_secs for
  /// what is under way. wait.hurry() ends it early. Idempotent.
  DrainResult drain(DrainWait& wait);

  [[nodiscard]] telemetry::AppLog& log() { return logs_.app; }

  /// For the caller's own tasks on the control loop.
  [[nodiscard]] LoopThread& control() { return control_; }
  [[nodiscard]] std::shared_ptr<const proxy::GatewayState> state() const {
    return shared_->gateway.load();
  }

 private:
  [[nodiscard]] Result<void> open_admin();
  void publish(proxy::StateBuilder::Built built);
  [[nodiscard]] std::vector<feeds::ResolvedName> names(const proxy::GatewayState& state) const;
  void resolve_names_first();
  void scrape_first();
  void follow_kv_events(const std::shared_ptr<const proxy::GatewayState>& state);
  [[nodiscard]] bool wait_until_quiet(Duration limit, DrainWait& wait);
  void collect(telemetry::ScrapeSink& sink);
  void collect_learned_chains(telemetry::ScrapeSink& sink);
  void collect_shadows(const proxy::GatewayState& state, telemetry::ScrapeSink& sink);
  void collect_indexes(const proxy::GatewayState& state, telemetry::ScrapeSink& sink);

  SystemClock clock_;
  Logs logs_;
  telemetry::MetricsRegistry metrics_;
  proxy::StateBuilder builder_;
  std::unique_ptr<proxy::SharedState> shared_;
  std::unique_ptr<proxy::LocalAnswers> local_;
  LoopThread control_;
  feeds::NameResolution resolution_;
  CacheLosses losses_;
  ControlFeeds feeds_;
  KvEvents kv_events_;
  Tokenizing tokenizing_;
  IndexStore index_store_;
  admin::Reload reload_;
  std::unique_ptr<admin::AdminServer> admin_;
  std::vector<std::unique_ptr<EventLoop>> loops_;
  std::uint16_t port_ = 0;
  std::uint16_t admin_port_ = 0;
  std::atomic<std::uint64_t> reloads_applied_{0};
  std::atomic<std::uint64_t> reloads_refused_{0};
  std::optional<Error> start_fault_;
  std::size_t quiet_loops_ = 0;  // while draining
  bool started_ = false;
  bool finished_ = false;
};

}  // namespace rolter::runtime
