#pragma once

#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "rolter/base/random.h"

namespace rolter::balance {

/// Routes up to this size are decided without an allocation.
inline constexpr std::size_t kUsualTargets = 128;

/// One value per eligible target, in the order of PickInput::eligible.
template <typename T>
using PerCandidate = absl::InlinedVector<T, kUsualTargets>;

/// Positions in PickInput::eligible that are still in the running. Rules narrow them one after the
/// other ("the best match, of those the least loaded, of those any"). Never empty once
/// made from something that is not.
class Choices {
 public:
  Choices() = default;
  explicit Choices(PerCandidate<std::uint32_t> positions) : positions_(std::move(positions)) {}

  /// Positions 0 .. count-1.
  static Choices all(std::size_t count) {
    Choices choices;
    choices.positions_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      choices.positions_[i] = static_cast<std::uint32_t>(i);
    }
    return choices;
  }

  [[nodiscard]] std::size_t size() const { return positions_.size(); }
  [[nodiscard]] auto begin() const { return positions_.begin(); }
  [[nodiscard]] auto end() const { return positions_.end(); }
  [[nodiscard]] std::size_t front() const { return positions_.front(); }

  /// Keeps those whose value is the least; equal values all stay.
  template <typename ValueOf>
  void keep_least(ValueOf value_of) {
    if (positions_.size() < 2) {
      return;
    }
    auto least = value_of(positions_.front());
    for (const std::size_t position : positions_) {
      least = std::min(least, value_of(position));
    }
    keep_if([&](std::size_t position) { return value_of(position) == least; });
  }

  template <typename ValueOf>
  void keep_greatest(ValueOf value_of) {
    if (positions_.size() < 2) {
      return;
    }
    auto greatest = value_of(positions_.front());
    for (const std::size_t position : positions_) {
      greatest = std::max(greatest, value_of(position));
    }
    keep_if([&](std::size_t position) { return value_of(position) == greatest; });
  }

  /// Keeps those for which `is_wanted`, or all when that would leave none.
  template <typename Predicate>
  void prefer(Predicate is_wanted) {
    if (std::ranges::any_of(positions_, is_wanted)) {
      keep_if(is_wanted);
    }
  }

  /// One of them, uniformly.
  [[nodiscard]] std::size_t pick(Rng& rng) const {
    return positions_.size() == 1 ? front() : positions_[uniform_index(rng, positions_.size())];
  }

 private:
  template <typename Predicate>
  void keep_if(Predicate is_wanted) {
    const auto gone = std::ranges::remove_if(positions_, std::not_fn(is_wanted));
    positions_.erase(gone.begin(), gone.end());
  }

  PerCandidate<std::uint32_t> positions_;
};

}  // namespace rolter::balance
