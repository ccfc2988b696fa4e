#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "rolter/base/error.h"
#include "rolter/simulator/chat_workload.h"
#include "rolter/simulator/engine_options.h"
#include "rolter/simulator/trace.h"

namespace rolter::cli {

struct DemoOptions {
  std::size_t replicas = 4;
  int seconds = 15;
  std::vector<std::string> strategies = {"round_robin", "least_load", "cache_aware"};
  std::string trace;
  bool token_ids = false;
  bool json = false;
  std::size_t users = 64;
  double speedup = 0.0;      // 0 = by the trace's format
  std::uint32_t blocks = 0;  // 0 = by the workload
  std::uint64_t seed = 1;
};

/// What the demo plays, and on what replicas: chat of its own, or a trace.
struct DemoWorkload {
  simulator::ChatWorkload chat{{}, 1};
  std::vector<simulator::TraceChain> trace;
  double speedup = 1.0;
  int warm_up_s = 0;  // traffic before anything counts
  simulator::EngineOptions engine;

  [[nodiscard]] bool is_chat() const { return trace.empty(); }
};

/// Reads the trace, if any. Errors name the file or the line.
[[nodiscard]] Result<DemoWorkload> make_demo_workload(const DemoOptions& options);

}  // namespace rolter::cli
