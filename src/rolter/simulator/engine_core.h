#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "rolter/base/time.h"
#include "rolter/simulator/scheduler.h"

namespace rolter::simulator {

struct EngineSpeed {
  double prefill_tps = 8000.0;  // tokens per second of all sequences together; 0 = takes no time
  double decode_tps = 50.0;     // tokens per second of each sequence; 0 = takes no time
};

/// What has become visible at the end of one step.
struct StepResult {
  TimePoint at;
  std::vector<Sampled> sampled;
  std::vector<KvEvent> events;  // to be published as one batch, if any
};

/// A scheduler in time. Prefill is computed at prefill_tps, first come first served, whatever else
/// runs: a lone prompt of n tokens has its first token after n / prefill_tps. A sequence has a
/// token every 1 / decode_tps, whatever their number; decodes that are due go along with a prefill
/// chunk, so that chunks longer than that slow them down to a token per chunk. (Prefill is bound by
/// compute, decode by memory bandwidth.)
///
/// Blocks are reserved when a step begins and its events become visible when it ends, as in vLLM
/// (0.12 and later publish after the model step). Every call passes the time, which must not go
/// back; late calls do not stretch the schedule. Single thread.
class EngineCore {
 public:
  EngineCore(const SchedulerLimits& limits, const EngineSpeed& speed);

  /// Queues a sequence. Steps that ended before `now` must have been taken by poll().
  SequenceId submit(SequenceSpec spec, TimePoint now);

  /// Cancels a sequence, at the end of the step that runs now. No token of it follows.
  void abort(SequenceId id, TimePoint now);

  /// When poll() has something; nullopt while idle.
  [[nodiscard]] std::optional<TimePoint> next_step_end() const;

  /// The oldest step that has ended by `now` and was not yet taken; starts the one after it.
  [[nodiscard]] std::optional<StepResult> poll(TimePoint now);

  /// POST /reset_prefix_cache. With kYes the step that runs ends at once; its result is the next
  /// one poll() gives.
  [[nodiscard]] bool reset_prefix_cache(Scheduler::ResetRunning running, TimePoint now);

  [[nodiscard]] SchedulerStats stats() const { return scheduler_.stats(); }
  [[nodiscard]] std::size_t unfinished() const { return scheduler_.unfinished(); }
  [[nodiscard]] std::size_t context_limit() const { return scheduler_.context_limit(); }

 private:
  [[nodiscard]] StepResult finish_step(TimePoint at);
  void start_step(TimePoint now);
  void apply_aborts();

  Scheduler scheduler_;
  EngineSpeed speed_;
  StepPlan plan_;
  std::optional<TimePoint> step_end_;
  std::optional<StepResult> cut_short_;  // the step that a reset ended
  std::vector<SequenceId> aborts_;       // wait for the end of the step
  std::uint64_t last_id_ = 0;
};

}  // namespace rolter::simulator
