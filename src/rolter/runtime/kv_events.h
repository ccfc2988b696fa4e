#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <thread>

#include "rolter/feeds/kv_discovery.h"
#include "rolter/feeds/kv_events.h"
#include "rolter/feeds/name_resolution.h"
#include "rolter/http/address_book.h"
#include "rolter/kvcache/block_index.h"
#include "rolter/proxy/gateway_state.h"
#include "rolter/runtime/cache_losses.h"
#include "rolter/runtime/loop_thread.h"
#include "rolter/telemetry/app_log.h"
#include "rolter/telemetry/metrics_registry.h"

namespace rolter::runtime {

/// The KV events of all providers: the feed on its own thread, and the discovery of its sources on
/// the control loop. Says in the log what becomes of each stream.
class KvEvents {
 public:
  /// All must outlive it.
  KvEvents(LoopThread& control, const Clock& clock, telemetry::AppLog& log,
           kvcache::BlockIndex& index, CacheLosses& losses);
  ~KvEvents() { join(); }
  KvEvents(const KvEvents&) = delete;
  KvEvents& operator=(const KvEvents&) = delete;

  /// Starts the event thread.
  void start();

  /// Follows this configuration from now on. `in_force` is called, on the event thread, when the
  /// index has forgotten the streams that are gone. On the control loop, between start() and
  /// stop().
  void watch(std::shared_ptr<const proxy::GatewayState> state, std::function<void()> in_force);

  /// On the control loop.
  void stop();
  /// Ends the event thread. Not from one of the gateway's own threads.
  void join();

  /// As KvEventFeed has it. Any thread.
  void expect_event(ReplicaSlot replica, std::uint64_t new_tokens, TimePoint since) {
    feed_.expect_event(replica, new_tokens, since);
  }

  /// As KvEventFeed has it. Any thread.
  void restarted(ReplicaSlot replica) { feed_.restarted(replica); }

  /// Any thread.
  void collect(const proxy::GatewayState& state, telemetry::ScrapeSink& sink) const;

 private:
  void follow(std::function<void()> in_force);
  void tell(const feeds::KvNotice& notice);

  telemetry::AppLog& log_;
  CacheLosses& losses_;
  feeds::KvEventFeed feed_;
  std::shared_ptr<const proxy::GatewayState> state_;
  http::AddressBook hosts_;
  feeds::NameResolution resolution_;
  feeds::KvDiscovery discovery_;
  std::thread thread_;
};

}  // namespace rolter::runtime
