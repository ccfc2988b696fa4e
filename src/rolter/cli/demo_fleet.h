#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rolter/base/error.h"
#include "rolter/cli/demo_report.h"
#include "rolter/config/config.h"
#include "rolter/runtime/gateway.h"
#include "rolter/runtime/logs.h"
#include "rolter/runtime/loop_thread.h"
#include "rolter/simulator/load_run.h"
#include "rolter/simulator/sim_engine.h"

namespace rolter::cli {

struct FleetOptions {
  std::size_t replicas = 4;
  simulator::EngineOptions engine;  // of each replica; ports are chosen
  config::StrategyKind strategy = config::StrategyKind::kCacheAware;
};

/// Fresh simulated replicas, a gateway in front of them and callers before it, on threads of their
/// own: one for all engines, one for the callers, the gateway's. Everything listens on 127.0.0.1.
/// For one thread that is none of these; destruction ends it all.
class DemoFleet {
 public:
  /// The model name the gateway serves.
  static constexpr const char* kModel = "demo";

  explicit DemoFleet(FleetOptions options);
  ~DemoFleet();
  DemoFleet(const DemoFleet&) = delete;
  DemoFleet& operator=(const DemoFleet&) = delete;

  [[nodiscard]] Result<void> start();

  [[nodiscard]] const runtime::Gateway& gateway() const { return *gateway_; }

  /// Runs `work` on the callers' loop and waits for it.
  void with_callers(const std::function<void(simulator::LoadRun&)>& work);
  [[nodiscard]] simulator::LoadResult callers_result();

  /// Counters of the replicas so far, in their order.
  [[nodiscard]] std::vector<simulator::SchedulerStats> replica_stats();
  [[nodiscard]] std::string target_name(std::size_t replica) const;

 private:
  [[nodiscard]] Result<void> start_engines();
  [[nodiscard]] config::Config gateway_config();
  void stop_callers();
  void stop_engines();

  FleetOptions options_;
  runtime::SystemClock clock_;
  runtime::Logs logs_;
  runtime::LoopThread engine_thread_;
  runtime::LoopThread caller_thread_;
  std::vector<std::unique_ptr<simulator::SimEngine>> engines_;
  std::unique_ptr<runtime::Gateway> gateway_;
  std::unique_ptr<simulator::LoadRun> callers_;
};

}  // namespace rolter::cli
