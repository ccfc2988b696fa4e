#pragma once

#include <chrono>

namespace rolter {

/// Monotonic time. The core never reads a clock: every function that needs the time takes a
/// TimePoint, so that a decision can be replayed. Only runtime/ and cli/ read the clock.
using TimePoint = std::chrono::steady_clock::time_point;
using Duration = std::chrono::steady_clock::duration;

/// Wall-clock time, for logs, Retry-After dates and key expiry only.
using WallTime = std::chrono::system_clock::time_point;

/// Where an I/O class gets the time from. One virtual call; the event loop answers from a value it
/// refreshes once per wake-up.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual TimePoint now() const = 0;
  [[nodiscard]] virtual WallTime wall_now() const = 0;
};

}  // namespace rolter
