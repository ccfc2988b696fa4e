#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "rolter/base/error.h"
#include "rolter/http/loop.h"
#include "rolter/http/task_scope.h"
#include "rolter/simulator/engine_options.h"
#include "rolter/simulator/scheduler.h"

namespace rolter::simulator {

/// One simulated vLLM server in this process: HTTP API, engine and KV events. Many fit on one loop,
/// whose thread alone may call them.
///
/// Its ways to end are those of a real 0.32, as a gateway sees them. After any of them
/// when_closed() tells when nothing of the engine runs any more; only then may it be destroyed.
class SimEngine {
 public:
  SimEngine(http::Loop& loop, EngineOptions options, http::TaskScope::BugReport on_bug);
  ~SimEngine();
  SimEngine(const SimEngine&) = delete;
  SimEngine& operator=(const SimEngine&) = delete;

  /// Binds and serves. The error names the address. A fresh engine's cache is empty and its events
  /// start at 0 without a clear, wherever it is bound: starting another one on the same ports is a
  /// restart.
  [[nodiscard]] Result<void> start();

  [[nodiscard]] std::uint16_t port() const;
  /// As bound, port resolved; "" without KV events.
  [[nodiscard]] std::string kv_endpoint(std::uint32_t rank = 0) const;
  [[nodiscard]] std::string kv_replay_endpoint(std::uint32_t rank = 0) const;
  [[nodiscard]] const EngineOptions& options() const;

  /// SIGKILL: every connection breaks, every port refuses.
  void kill();

  /// SIGTERM with --shutdown-timeout: running requests end well, /health stays 200, new requests
  /// get an empty answer with "abort"; then, or at the timeout, kill().
  void drain(Duration timeout);

  /// SIGTERM without: every port refuses at once, idle connections close, and open answers hang
  /// without an end until their clients leave.
  void hang();

  /// The engine process dies: streams end with an error event, other answers are 500, /health is
  /// 503; kill() 0.4 s later.
  void core_dies();

  void when_closed(std::function<void()> callback);

  /// Sums over the ranks.
  [[nodiscard]] SchedulerStats stats() const;
  /// Requests being answered now, whatever they ask for.
  [[nodiscard]] std::size_t open_requests() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rolter::simulator
