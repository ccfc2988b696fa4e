#pragma once

#include <atomic>
#include <cstddef>
#include <vector>

#include "rolter/balance/strategy.h"

namespace rolter::balance {

/// Each eligible target in turn. The turn is the route's own: routes do not disturb each other.
class RoundRobin final : public Strategy {
 public:
  /// `before`, if any, is the same route's of the configuration before: the turn goes on.
  explicit RoundRobin(const RoundRobin* before = nullptr)
      : turn_(before == nullptr ? 0 : before->turn_.load(std::memory_order_relaxed)) {}

  Decision pick(const PickInput& in, Rng& rng, std::vector<Score>* scores) override;
  Record record(const PickInput& /*in*/, const Candidate& /*chosen*/) override { return {}; }

 private:
  std::atomic<std::size_t> turn_;
};

}  // namespace rolter::balance
