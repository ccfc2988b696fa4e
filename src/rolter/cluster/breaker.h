#pragma once

#include <cstdint>
#include <optional>

#include "rolter/base/time.h"
#include "rolter/config/config.h"

namespace rolter::cluster {

/// The right to be the one request that tries a half-open breaker. 0 is no slot.
enum class TrialSlot : std::uint64_t { kNone = 0 };

/// Closed until so many failures in a row; then open for a while; then half-open: one request at a
/// time may try, and its end closes or opens it again. A trial that ends neither way (its client
/// left, the replica was full) frees the slot for another; one that never ends loses it after the
/// time the breaker stays open, so that no hung request keeps it half-open. Not thread-safe.
class Breaker {
 public:
  enum class State : std::uint8_t { kClosed, kOpen, kHalfOpen };

  explicit Breaker(const config::Breaker& settings) : settings_(settings) {}
  /// Switching it off closes it.
  void configure(const config::Breaker& settings);

  [[nodiscard]] State state() const { return state_; }

  /// Nothing may be sent before this time: min() when closed, or half-open with the slot free.
  [[nodiscard]] TimePoint blocked_until() const;

  /// Takes the slot of a breaker that is not closed. nullopt: open, or somebody else is trying.
  std::optional<TrialSlot> claim(TimePoint now);

  /// Returns true when this closed the breaker.
  bool succeeded(TrialSlot slot);

  /// Returns true when this opened it.
  bool failed(TrialSlot slot, TimePoint now);

  /// The trial ended without a verdict. A slot that is no longer held is ignored.
  void released(TrialSlot slot);

  /// The replica's health came back: no need to wait any longer before the next trial.
  void allow_trial();

  [[nodiscard]] std::uint32_t failures_in_a_row() const { return failures_in_a_row_; }

 private:
  [[nodiscard]] bool holds(TrialSlot slot) const {
    return slot != TrialSlot::kNone && slot == holder_;
  }
  void open(TimePoint now);
  void close();

  config::Breaker settings_;
  State state_ = State::kClosed;
  std::uint32_t failures_in_a_row_ = 0;
  TimePoint until_ = TimePoint::min();  // end of the open time, or of the holder's claim
  TrialSlot holder_ = TrialSlot::kNone;
  std::uint64_t last_slot_ = 0;
};

}  // namespace rolter::cluster
