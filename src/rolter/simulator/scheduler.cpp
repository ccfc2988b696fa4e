#include "rolter/simulator/scheduler.h"

#include <algorithm>
#include <utility>

namespace rolter::simulator {
namespace {

bool is_decode(const Sequence& sequence) {
  return sequence.sampled() > 0 && sequence.computed + 1 == sequence.tokens.size();
}

}  // namespace

Scheduler::Scheduler(const SchedulerLimits& limits, const DecodePace& pace)
    : limits_(limits), pace_(pace), cache_(limits.blocks, limits.block_size, limits.root_hash) {}

void Scheduler::add(std::unique_ptr<Sequence> sequence) {
  sequence->tokens = sequence->spec.prompt;
  waiting_.push_back(std::move(sequence));
}

void Scheduler::abort(SequenceId id) {
  const auto is_it = [id](const SequencePtr& sequence) { return sequence->id == id; };
  if (const auto found = std::ranges::find_if(running_, is_it); found != running_.end()) {
    cache_.release(**found);
    running_.erase(found);
    ++totals_.aborted;
    return;
  }
  if (const auto found = std::ranges::find_if(waiting_, is_it); found != waiting_.end()) {
    waiting_.erase(found);
    ++totals_.aborted;
  }
}

StepPlan Scheduler::schedule(TimePoint now) {
  StepPlan plan;
  std::size_t budget = limits_.max_step_tokens;
  preempted_this_step_ = false;
  schedule_running(plan, budget, decode_horizon(now));
  // Who has just lost its blocks must not get them back in the same step.
  if (!preempted_this_step_) {
    schedule_waiting(plan, budget);
  }
  return plan;
}

/// Decodes due by then are part of a step that begins at `now`. What the next in the queue will hit
/// is not known yet, so this may be late by up to a chunk; the pace makes up for it.
TimePoint Scheduler::decode_horizon(TimePoint now) const {
  std::size_t prefill = 0;
  for (const SequencePtr& sequence : running_) {
    prefill += is_decode(*sequence) ? 0 : sequence->tokens.size() - sequence->computed;
  }
  if (!waiting_.empty() && running_.size() < limits_.max_running) {
    prefill += waiting_.front()->tokens.size();
  }
  prefill = std::min(prefill, limits_.max_step_tokens);
  return now + std::max(pace_.slack, pace_.prefill_token * static_cast<Duration::rep>(prefill));
}

void Scheduler::schedule_running(StepPlan& plan, std::size_t& budget, TimePoint decode_horizon) {
  for (std::size_t i = 0; i < running_.size() && budget > 0; ++i) {
    const Sequence& sequence = *running_[i];
    if (is_decode(sequence) && sequence.next_token_due > decode_horizon) {
      continue;
    }
    const std::size_t tokens = std::min(sequence.tokens.size() - sequence.computed, budget);
    if (!make_room_for(i, tokens)) {
      return;
    }
    plan_part(plan, *running_[i], tokens);
    budget -= tokens;
  }
}

bool Scheduler::make_room_for(std::size_t position, std::size_t tokens) {
  while (!cache_.allocate(*running_[position], {}, tokens)) {
    const bool itself = position + 1 == running_.size();
    preempt_last();
    if (itself) {
      return false;
    }
  }
  return true;
}

void Scheduler::preempt_last() {
  SequencePtr victim = std::move(running_.back());
  running_.pop_back();
  cache_.release(*victim);
  victim->computed = 0;
  waiting_.push_front(std::move(victim));
  preempted_this_step_ = true;
  ++totals_.preemptions;
}

void Scheduler::schedule_waiting(StepPlan& plan, std::size_t& budget) {
  while (!waiting_.empty() && budget > 0 && running_.size() < limits_.max_running) {
    Sequence& sequence = *waiting_.front();
    const std::vector<BlockId> hit = cache_.find_hit(sequence);
    const std::size_t hit_tokens = hit.size() * cache_.block_size();
    const std::size_t tokens = std::min(sequence.tokens.size() - hit_tokens, budget);
    if (!cache_.allocate(sequence, hit, tokens)) {
      return;
    }
    sequence.computed = hit_tokens;
    if (!sequence.hit_tokens) {
      sequence.hit_tokens = hit_tokens;
      totals_.prompt_tokens += sequence.spec.prompt.size();
      totals_.hit_tokens += hit_tokens;
    }
    plan_part(plan, sequence, tokens);
    budget -= tokens;
    running_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
}

void Scheduler::plan_part(StepPlan& plan, Sequence& sequence, std::size_t tokens) {
  if (is_decode(sequence)) {
    ++plan.decoding;
  } else {
    plan.prefill_tokens += tokens;
    totals_.computed_prefill_tokens += tokens;
  }
  sequence.computed += tokens;
  plan.parts.push_back({sequence.id, tokens});
}

std::vector<Sampled> Scheduler::complete(const StepPlan& plan, TimePoint end) {
  std::vector<Sampled> sampled;
  sampled.reserve(plan.parts.size());
  // Parts are in the order of running_, and nothing leaves it between schedule() and complete().
  std::size_t position = 0;
  for (const StepPlan::Part& part : plan.parts) {
    while (running_[position]->id != part.sequence) {
      ++position;
    }
    Sequence& sequence = *running_[position];
    if (sequence.computed < sequence.tokens.size()) {
      continue;  // more of the prompt to come
    }
    sampled.push_back(sample(sequence, end));
    if (sampled.back().finish) {
      cache_.release(sequence);
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(position));
    }
  }
  return sampled;
}

Sampled Scheduler::sample(Sequence& sequence, TimePoint now) {
  const SequenceSpec& spec = sequence.spec;
  Sampled out{sequence.id, spec.script[sequence.sampled()], spec.prompt.size(),
              sequence.hit_tokens.value_or(0), std::nullopt};
  sequence.tokens.push_back(out.token);
  // From when it was due, so that a token that came early or a little late does not change the
  // pace; what was lost to a long chunk is lost.
  const bool in_time = sequence.sampled() > 1 && now < sequence.next_token_due + pace_.interval;
  sequence.next_token_due = (in_time ? sequence.next_token_due : now) + pace_.interval;
  ++totals_.generated_tokens;
  if (sequence.sampled() == spec.script.size()) {
    out.finish = spec.script_ends;
  } else if (sequence.tokens.size() >= context_limit()) {
    out.finish = FinishReason::kLength;
  }
  if (out.finish == FinishReason::kStop) {
    ++totals_.finished_stop;
  } else if (out.finish == FinishReason::kLength) {
    ++totals_.finished_length;
  }
  return out;
}

std::optional<TimePoint> Scheduler::next_decode() const {
  std::optional<TimePoint> next;
  for (const SequencePtr& sequence : running_) {
    if (is_decode(*sequence) && (!next || sequence->next_token_due < *next)) {
      next = sequence->next_token_due;
    }
  }
  return next;
}

bool Scheduler::reset_prefix_cache(ResetRunning running) {
  if (running == ResetRunning::kYes) {
    while (!running_.empty()) {
      preempt_last();
    }
  }
  return cache_.reset();
}

SchedulerStats Scheduler::stats() const {
  SchedulerStats stats = totals_;
  stats.running = running_.size();
  stats.waiting = waiting_.size();
  stats.kv_usage = cache_.usage();
  return stats;
}

std::size_t Scheduler::context_limit() const {
  return std::min(limits_.max_model_len, cache_.capacity_tokens());
}

}  // namespace rolter::simulator
