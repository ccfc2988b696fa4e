#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "rolter/base/time.h"

namespace rolter::cluster {

/// Keeps retries from multiplying an outage: within any ten seconds they are at most `share` of the
/// requests, or ten a second where that is more. Over ten seconds, and not one, so that the
/// requests that wait at a replica when it dies can all move at once.
///
/// Requests are counted per event loop, by plain stores to a line of its own; a retry, which is
/// rare, takes a lock and adds them up.
class RetryBudget {
 public:
  static constexpr std::uint64_t kFloorPerSecond = 10;
  static constexpr std::size_t kWindowSeconds = 10;

  RetryBudget(double share, std::size_t loops) : requests_(loops), share_(share) {}

  /// One request has come. Only from the event loop with this index.
  void count_request(std::size_t loop) {
    std::atomic<std::uint64_t>& count = requests_[loop].count;
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  /// Takes one retry, or returns false when the budget is spent. Any thread.
  [[nodiscard]] bool try_spend(TimePoint now);

  /// Any thread.
  void configure(double share);

 private:
  struct alignas(64) Cell {
    std::atomic<std::uint64_t> count{0};
  };
  struct Second {
    double requests = 0;
    std::uint64_t retries = 0;
  };

  void advance(TimePoint now);

  std::vector<Cell> requests_;
  std::mutex mutex_;
  double share_;
  std::array<Second, kWindowSeconds> window_{};
  std::int64_t newest_second_ = 0;
  std::uint64_t requests_seen_ = 0;
  bool started_ = false;
};

}  // namespace rolter::cluster
