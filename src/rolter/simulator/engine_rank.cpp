#include "rolter/simulator/engine_rank.h"

#include <boost/asio/post.hpp>
#include <chrono>
#include <utility>
#include <vector>

namespace rolter::simulator {
namespace {

// With speed 0 an engine always has a step that is due; the loop serves others in between.
constexpr int kStepsPerTurn = 32;

}  // namespace

EngineRank::EngineRank(http::Loop& loop, std::uint32_t rank, const SchedulerLimits& limits,
                       const EngineSpeed& speed)
    : loop_(loop), rank_(rank), core_(limits, speed), work_(loop) {}

http::Task<> EngineRank::run() {
  while (!stopped_) {
    if (take_due_steps()) {
      co_await http::asio::post(loop_.io().get_executor(), http::asio::deferred);
      continue;
    }
    const auto end = halted_ ? std::nullopt : core_.next_step_end();
    co_await work_.wait(end.value_or(TimePoint::max()));
  }
}

bool EngineRank::take_due_steps() {
  for (int step = 0; step < kStepsPerTurn; ++step) {
    if (halted_) {
      return false;
    }
    auto result = core_.poll(loop_.now());
    if (!result) {
      return false;
    }
    deliver(*result);
  }
  return true;
}

void EngineRank::deliver(StepResult& result) {
  // Before the tokens: whoever sees an answer may expect its blocks to be announced, mostly.
  if (publisher_ && !result.events.empty()) {
    const std::chrono::duration<double> unix_time = loop_.wall_now().time_since_epoch();
    publisher_->publish(EventBatch{unix_time.count(), std::move(result.events), rank_});
  }
  for (const Sampled& token : result.sampled) {
    const auto found = sinks_.find(token.sequence);
    if (found == sinks_.end()) {
      continue;
    }
    TokenSink& sink = *found->second;
    if (token.finish) {
      sinks_.erase(found);
    }
    sink.on_sampled(token);
  }
}

SequenceId EngineRank::submit(SequenceSpec spec, TokenSink& sink) {
  const bool was_idle = !core_.next_step_end();
  const SequenceId id = core_.submit(std::move(spec), loop_.now());
  sinks_.emplace(id, &sink);
  if (was_idle) {
    work_.notify();
  }
  return id;
}

void EngineRank::abort(SequenceId id) {
  if (sinks_.erase(id) > 0 && !halted_) {
    core_.abort(id, loop_.now());
  }
}

bool EngineRank::reset_prefix_cache(Scheduler::ResetRunning running) {
  const bool done = core_.reset_prefix_cache(running, loop_.now());
  work_.notify();
  return done;
}

void EngineRank::halt() {
  halted_ = true;
  if (publisher_) {
    publisher_->close();
  }
}

void EngineRank::die() {
  halt();
  for (const auto& [id, sink] : std::exchange(sinks_, {})) {
    sink->on_engine_died();
  }
}

void EngineRank::stop() {
  stopped_ = true;
  halt();
  work_.notify();
}

}  // namespace rolter::simulator
