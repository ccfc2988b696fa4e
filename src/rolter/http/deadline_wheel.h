#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "rolter/base/time.h"

namespace rolter::http {

class DeadlineWheel;

/// One thing that must have happened by some time, or else `on_expired` is called. Arming and
/// disarming cost a few list operations and no system call, so that every wait can have a limit.
/// Used by one loop's thread only. Not movable: the wheel links to it.
class Deadline {
 public:
  Deadline(DeadlineWheel& wheel, std::function<void()> on_expired);
  ~Deadline() { disarm(); }
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

  /// Replaces an earlier arming. Expires not before `after`, and at most two ticks later. Zero or
  /// less disarms: a duration of 0 means no limit in the configuration.
  void arm(Duration after);
  void disarm();
  [[nodiscard]] bool armed() const { return armed_; }

 private:
  friend class DeadlineWheel;

  DeadlineWheel& wheel_;
  std::function<void()> on_expired_;
  Deadline* next_ = nullptr;
  Deadline* previous_ = nullptr;
  std::uint64_t due_tick_ = 0;
  bool armed_ = false;
};

/// A hashed timing wheel with coarse ticks (Varghese and Lauck 1987), turned by its loop. One timer
/// per loop instead of one per operation.
class DeadlineWheel {
 public:
  static constexpr std::chrono::milliseconds kTick{50};

  /// Calls what has expired by `ticks` more ticks. A callback may arm or disarm any deadline.
  void advance(std::uint64_t ticks);

  [[nodiscard]] std::size_t armed() const { return armed_; }

 private:
  friend class Deadline;
  static constexpr std::size_t kSlots = 512;  // one turn: 25.6 s; longer deadlines go round

  void link(Deadline& deadline, std::uint64_t due_tick);
  void unlink(Deadline& deadline);
  void expire_slot(std::size_t slot);

  std::array<Deadline*, kSlots> slots_{};
  std::uint64_t tick_ = 0;
  std::size_t armed_ = 0;
};

}  // namespace rolter::http
