#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>

#include "rolter/base/time.h"

namespace rolter::cluster {

/// A number that a poll brought, good for a while. One writer at a time, any number of readers,
/// without a lock; a reader may see a new value with the old one's age for an instant, which is
/// within what polling means.
class FreshReading {
 public:
  void publish(float value, TimePoint now, Duration good_for) {
    value_.store(value, std::memory_order_relaxed);
    good_until_.store((now + good_for).time_since_epoch().count(), std::memory_order_release);
  }

  /// nullopt before the first and when the last is too old: unknown is not zero.
  [[nodiscard]] std::optional<float> at(TimePoint now) const {
    if (now.time_since_epoch().count() > good_until_.load(std::memory_order_acquire)) {
      return std::nullopt;
    }
    return value_.load(std::memory_order_relaxed);
  }

  void forget() { good_until_.store(kNever, std::memory_order_relaxed); }

 private:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();

  std::atomic<std::int64_t> good_until_{kNever};
  std::atomic<float> value_{0.0F};
};

}  // namespace rolter::cluster
