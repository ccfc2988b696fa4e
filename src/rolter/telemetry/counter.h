#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace rolter::telemetry {

/// A count with one writer, the event loop that owns it, and any number of readers. An increment is
/// a load and a store: no lock prefix, no shared cache line.
class Counter {
 public:
  void add(std::uint64_t amount = 1) {
    value_.store(value_.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

/// Upper bounds of the time histograms, in milliseconds: up to an hour, since a long generation at
/// a busy replica takes that long and must not fall out of the picture.
inline constexpr std::array<double, 21> kTimeBounds{
    1,     2,      5,      10,     20,     50,      100,     200,     500,       1'000,    2'000,
    5'000, 10'000, 20'000, 30'000, 60'000, 120'000, 300'000, 600'000, 1'800'000, 3'600'000};

/// Upper bounds of fractions 0..1.
inline constexpr std::array<double, 11> kFractionBounds{0.0, 0.1, 0.2, 0.3, 0.4, 0.5,
                                                        0.6, 0.7, 0.8, 0.9, 1.0};

/// Upper bounds of an event loop's lag, in seconds.
inline constexpr std::array<double, 9> kLagBounds{0.0005, 0.001, 0.002, 0.005, 0.01,
                                                  0.05,   0.1,   0.5,   1.0};

/// A distribution with fixed buckets; one writer, as Counter.
template <const auto& kBounds>
class Histogram {
 public:
  static constexpr std::size_t kBuckets = kBounds.size() + 1;  // the last is +Inf

  void observe(double value) {
    const auto bucket = std::lower_bound(kBounds.begin(), kBounds.end(), value) - kBounds.begin();
    counts_[static_cast<std::size_t>(bucket)].add();
    sum_.store(sum_.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
  }
  /// Of this bucket alone, not cumulative.
  [[nodiscard]] std::uint64_t count(std::size_t bucket) const { return counts_[bucket].value(); }
  [[nodiscard]] double sum() const { return sum_.load(std::memory_order_relaxed); }

 private:
  std::array<Counter, kBuckets> counts_;
  std::atomic<double> sum_{0.0};
};

using TimeHistogram = Histogram<kTimeBounds>;
using FractionHistogram = Histogram<kFractionBounds>;
using LagHistogram = Histogram<kLagBounds>;

}  // namespace rolter::telemetry
