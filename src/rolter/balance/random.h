#pragma once

#include <vector>

#include "rolter/balance/strategy.h"

namespace rolter::balance {

/// Any eligible target, uniformly.
class Random final : public Strategy {
 public:
  Decision pick(const PickInput& in, Rng& rng, std::vector<Score>* scores) override;
  Record record(const PickInput& /*in*/, const Candidate& /*chosen*/) override { return {}; }
};

}  // namespace rolter::balance
