#pragma once

#include <atomic>
#include <cstddef>
#include <vector>

#include "rolter/balance/strategy.h"

namespace rolter::balance {

/// Each eligible target in turn. The turn is the route's own: routes do not disturb each other.
class RoundRobin final : public Strategy {
 public:
  Decision pick(const PickInput& in, Rng& rng, std::vector<Score>* scores) override;
  Record record(const PickInput& /*in*/, const Candidate& /*chosen*/) override { return {}; }

 private:
  std::atomic<std::size_t> turn_{0};
};

}  // namespace rolter::balance
