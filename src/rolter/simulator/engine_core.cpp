#include "rolter/simulator/engine_core.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

namespace rolter::simulator {
namespace {

/// Share of the time between two tokens by which they may come early: enough for sequences to share
/// steps instead of having each its own.
constexpr int kDecodeSlackDivisor = 4;

Duration seconds_for(double units, double per_second) {
  if (per_second <= 0.0) {
    return Duration::zero();
  }
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(units / per_second));
}

DecodePace pace_of(const EngineSpeed& speed) {
  const Duration interval = seconds_for(1.0, speed.decode_tps);
  return {interval, interval / kDecodeSlackDivisor, seconds_for(1.0, speed.prefill_tps)};
}

}  // namespace

EngineCore::EngineCore(const SchedulerLimits& limits, const EngineSpeed& speed)
    : scheduler_(limits, pace_of(speed)), speed_(speed) {}

SequenceId EngineCore::submit(SequenceSpec spec, TimePoint now) {
  auto sequence = std::make_unique<Sequence>();
  sequence->id = SequenceId{++last_id_};
  sequence->spec = std::move(spec);
  const SequenceId id = sequence->id;
  scheduler_.add(std::move(sequence));
  if (!step_end_) {
    start_step(now);
  }
  return id;
}

void EngineCore::abort(SequenceId id, TimePoint now) {
  aborts_.push_back(id);
  if (!step_end_) {
    start_step(now);
  }
}

std::optional<TimePoint> EngineCore::next_step_end() const {
  if (cut_short_) {
    return cut_short_->at;
  }
  // A step of decodes alone takes no time: it happens when they are due.
  return step_end_ ? step_end_ : scheduler_.next_decode();
}

std::optional<StepResult> EngineCore::poll(TimePoint now) {
  if (cut_short_) {
    return std::exchange(cut_short_, std::nullopt);
  }
  if (!step_end_) {
    if (const auto due = scheduler_.next_decode(); due && *due <= now) {
      start_step(*due);
    }
  }
  if (!step_end_ || *step_end_ > now) {
    return std::nullopt;
  }
  StepResult result = finish_step(*step_end_);
  start_step(result.at);
  return result;
}

StepResult EngineCore::finish_step(TimePoint at) {
  StepResult result;
  result.at = at;
  result.sampled = scheduler_.complete(plan_, at);
  std::erase_if(result.sampled, [this](const Sampled& token) {
    return std::ranges::find(aborts_, token.sequence) != aborts_.end();
  });
  result.events = scheduler_.take_events();
  return result;
}

bool EngineCore::reset_prefix_cache(Scheduler::ResetRunning running, TimePoint now) {
  if (running == Scheduler::ResetRunning::kNo || !step_end_) {
    return scheduler_.reset_prefix_cache(running);
  }
  if (!cut_short_) {
    cut_short_ = finish_step(now);
  }
  const bool done = scheduler_.reset_prefix_cache(running);
  start_step(now);
  return done;
}

void EngineCore::start_step(TimePoint now) {
  step_end_.reset();
  apply_aborts();
  plan_ = scheduler_.schedule(now);
  if (!plan_.empty()) {
    step_end_ = now + seconds_for(static_cast<double>(plan_.prefill_tokens), speed_.prefill_tps);
  }
}

void EngineCore::apply_aborts() {
  for (const SequenceId id : aborts_) {
    scheduler_.abort(id);
  }
  aborts_.clear();
}

}  // namespace rolter::simulator
