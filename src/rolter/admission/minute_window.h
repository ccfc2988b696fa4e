#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "rolter/base/time.h"

namespace rolter::admission {

/// How much was counted within the last minute, in steps of a second. What was counted in a second
/// stays for the sixty that follow it: never shorter than a minute, at most a second longer. So
/// whoever adds only while total() + amount <= limit is at or under the limit in *every* 60 s,
/// which neither a token bucket (twice the limit after a pause) nor fixed minutes (twice around the
/// change) gives. 61 counters, no allocation. Not thread-safe. A time before the newest one seen
/// counts as the newest.
class MinuteWindow {
 public:
  /// Where an amount was added, to take it back.
  enum class Second : std::int64_t {};

  Second add(TimePoint now, std::uint64_t amount);

  /// Takes an amount back; does nothing when it has left the window by itself.
  void take_back(Second second, std::uint64_t amount);

  [[nodiscard]] std::uint64_t total(TimePoint now);

  /// Time until the total has fallen to `amount` or less, with nothing added meanwhile.
  [[nodiscard]] Duration until_at_most(TimePoint now, std::uint64_t amount);

 private:
  static constexpr std::int64_t kSeconds = 61;

  void advance(TimePoint now);
  /// Also for the seconds before 0 that a window near the clock's origin reaches into.
  [[nodiscard]] std::uint64_t& at(std::int64_t second) {
    return counts_[static_cast<std::size_t>((second % kSeconds + kSeconds) % kSeconds)];
  }

  std::array<std::uint64_t, kSeconds> counts_{};
  std::uint64_t total_ = 0;
  std::int64_t newest_ = 0;
};

}  // namespace rolter::admission
