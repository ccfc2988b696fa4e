#include "rolter/cli/demo_workload.h"

#include <algorithm>
#include <utility>

#include "rolter/cli/trace_file.h"

namespace rolter::cli {
namespace {

constexpr int kChatWarmUpSeconds = 5;
constexpr double kRequestSpeedup = 30.0;
constexpr double kSessionSpeedup = 100.0;

/// The chat fleet. Prompts have about 1,700 tokens: one of 24 system prompts of 600 and up to ten
/// turns. A replica's cache of 64,000 tokens holds a quarter of the conversations, not all of them,
/// and its prefill keeps up with what a warm fleet misses, not with a cold one.
simulator::EngineOptions chat_engine() {
  simulator::EngineOptions engine;
  engine.model = "sim-model";
  engine.limits.block_size = 16;
  engine.limits.blocks = 4'000;
  engine.limits.max_step_tokens = 256;
  engine.speed = {.prefill_tps = 10'000.0, .decode_tps = 120.0};
  return engine;
}

bool has_sessions(const std::vector<simulator::TraceChain>& chains) {
  return std::ranges::any_of(
      chains, [](const simulator::TraceChain& chain) { return chain.calls.size() > 1; });
}

/// Replica speeds of the routing studies on these traces, divided by the shrinking of the prompts
/// and multiplied by the speed-up: 48,000 prefill tokens per second for the whole fleet on chat,
/// 8,000 for each replica on sessions; 25 ms per generated token.
void scale_engine(DemoWorkload& workload, std::size_t replicas, bool sessions) {
  const double scale = workload.speedup / static_cast<double>(simulator::kTraceShrink);
  const double prefill = sessions ? 8'000.0 : 48'000.0 / static_cast<double>(replicas);
  workload.engine.speed = {.prefill_tps = prefill * scale, .decode_tps = 40.0 * scale};
  workload.engine.limits.blocks = 2'000;
  workload.engine.limits.max_step_tokens = 2'048 / simulator::kTraceShrink;
}

Result<void> load_trace(const DemoOptions& options, DemoWorkload& workload) {
  const auto text = read_trace_file(options.trace);
  if (!text) {
    return std::unexpected(text.error());
  }
  const double sessions_per_s = 0.005 * static_cast<double>(options.replicas);
  auto chains = simulator::read_trace(*text, {options.seed, sessions_per_s});
  if (!chains) {
    return std::unexpected(chains.error());
  }
  workload.trace = std::move(*chains);
  const bool sessions = has_sessions(workload.trace);
  workload.speedup = options.speedup > 0.0 ? options.speedup
                     : sessions            ? kSessionSpeedup
                                           : kRequestSpeedup;
  scale_engine(workload, options.replicas, sessions);
  return {};
}

}  // namespace

Result<DemoWorkload> make_demo_workload(const DemoOptions& options) {
  DemoWorkload workload;
  workload.engine = chat_engine();
  if (options.trace.empty()) {
    workload.chat = simulator::ChatWorkload({}, options.seed);
    workload.warm_up_s = kChatWarmUpSeconds;
  } else if (auto loaded = load_trace(options, workload); !loaded) {
    return std::unexpected(loaded.error());
  }
  if (options.blocks > 0) {
    workload.engine.limits.blocks = options.blocks;
  }
  workload.engine.seed = options.seed;
  return workload;
}

}  // namespace rolter::cli
