#include "rolter/simulator/engine_core.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

namespace rolter::simulator {
namespace {

Duration seconds_for(double units, double per_second) {
  if (per_second <= 0.0) {
    return Duration::zero();
  }
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(units / per_second));
}

}  // namespace

EngineCore::EngineCore(const SchedulerLimits& limits, const EngineSpeed& speed)
    : scheduler_(limits), speed_(speed) {}

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

std::optional<StepResult> EngineCore::poll(TimePoint now) {
  if (cut_short_) {
    return std::exchange(cut_short_, std::nullopt);
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
  result.sampled = scheduler_.complete(plan_);
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
  plan_ = scheduler_.schedule();
  if (!plan_.empty()) {
    step_end_ = now + step_time(plan_);
  }
}

void EngineCore::apply_aborts() {
  for (const SequenceId id : aborts_) {
    scheduler_.abort(id);
  }
  aborts_.clear();
}

Duration EngineCore::step_time(const StepPlan& plan) const {
  const Duration prefill =
      seconds_for(static_cast<double>(plan.prefill_tokens), speed_.prefill_tps);
  const Duration decode =
      plan.decoding > 0 ? seconds_for(1.0, speed_.decode_tps) : Duration::zero();
  return std::max(prefill, decode);
}

}  // namespace rolter::simulator
