#include "rolter/cluster/retry_budget.h"

#include <algorithm>
#include <chrono>

namespace rolter::cluster {

bool RetryBudget::try_spend(TimePoint now) {
  const std::lock_guard lock(mutex_);
  advance(now);
  double requests = 0;
  std::uint64_t retries = 0;
  for (const Second& second : window_) {
    requests += second.requests;
    retries += second.retries;
  }
  const double allowed =
      std::max(share_ * requests, static_cast<double>(kFloorPerSecond * kWindowSeconds));
  if (static_cast<double>(retries + 1) > allowed) {
    return false;
  }
  window_[static_cast<std::size_t>(newest_second_) % kWindowSeconds].retries += 1;
  return true;
}

void RetryBudget::configure(double share) {
  const std::lock_guard lock(mutex_);
  share_ = share;
}

/// Moves the window to `now`. Requests are looked at only when somebody wants to retry, so what has
/// come since the last look is spread evenly over the seconds between.
void RetryBudget::advance(TimePoint now) {
  const std::int64_t second =
      std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
  if (!started_) {
    started_ = true;
    newest_second_ = second;
  }
  std::uint64_t total = 0;
  for (const Cell& cell : requests_) {
    total += cell.count.load(std::memory_order_relaxed);
  }
  const auto fresh = static_cast<double>(total - requests_seen_);
  requests_seen_ = total;
  // Loops refresh their clocks on their own: one may be a moment behind another.
  const std::int64_t passed = std::max<std::int64_t>(second - newest_second_, 0);
  const double per_second = fresh / static_cast<double>(passed + 1);
  for (std::int64_t i = std::max<std::int64_t>(passed - std::int64_t{kWindowSeconds}, 0);
       i < passed; ++i) {
    window_[static_cast<std::size_t>(newest_second_ + i + 1) % kWindowSeconds] = {per_second, 0};
  }
  newest_second_ += passed;
  const std::int64_t before = newest_second_ - passed;
  if (passed < std::int64_t{kWindowSeconds}) {
    window_[static_cast<std::size_t>(before) % kWindowSeconds].requests += per_second;
  }
}

}  // namespace rolter::cluster
