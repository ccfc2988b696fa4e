#include "rolter/cluster/breaker.h"

#include <algorithm>
#include <chrono>

namespace rolter::cluster {
namespace {

/// A claim outlives open_secs = 0 long enough for one request to end.
constexpr Duration kShortestClaim = std::chrono::seconds{1};

}  // namespace

void Breaker::configure(const config::Breaker& settings) {
  settings_ = settings;
  if (!settings_.enabled) {
    close();
  }
}

TimePoint Breaker::blocked_until() const {
  const bool slot_free = state_ == State::kHalfOpen && holder_ == TrialSlot::kNone;
  return state_ == State::kClosed || slot_free ? TimePoint::min() : until_;
}

std::optional<TrialSlot> Breaker::claim(TimePoint now) {
  if (state_ == State::kClosed || now < blocked_until()) {
    return std::nullopt;
  }
  state_ = State::kHalfOpen;
  holder_ = TrialSlot{++last_slot_};
  until_ = now + std::max<Duration>(settings_.open, kShortestClaim);
  return holder_;
}

bool Breaker::succeeded(TrialSlot slot) {
  if (state_ == State::kClosed) {
    failures_in_a_row_ = 0;
    return false;
  }
  if (!holds(slot)) {
    return false;
  }
  close();
  return true;
}

bool Breaker::failed(TrialSlot slot, TimePoint now) {
  if (!settings_.enabled) {
    return false;
  }
  if (state_ != State::kClosed) {
    if (!holds(slot)) {
      return false;  // sent before it opened, or let through when every target was out
    }
    open(now);
    return true;
  }
  if (++failures_in_a_row_ < settings_.failure_threshold) {
    return false;
  }
  open(now);
  return true;
}

void Breaker::released(TrialSlot slot) {
  if (holds(slot)) {
    holder_ = TrialSlot::kNone;
  }
}

void Breaker::allow_trial() {
  if (state_ == State::kOpen) {
    state_ = State::kHalfOpen;
    holder_ = TrialSlot::kNone;
  }
}

void Breaker::open(TimePoint now) {
  state_ = State::kOpen;
  holder_ = TrialSlot::kNone;
  until_ = now + settings_.open;
}

void Breaker::close() {
  state_ = State::kClosed;
  holder_ = TrialSlot::kNone;
  failures_in_a_row_ = 0;
}

}  // namespace rolter::cluster
