#pragma once

#include <vector>

#include "rolter/balance/strategy.h"

namespace rolter::balance {

/// The less loaded of two eligible targets drawn at random (Mitzenmacher 2001): nearly as even as
/// the least loaded of all, without several gateways that see the same figures all choosing the
/// same target.
class PowerOfTwo final : public Strategy {
 public:
  Decision pick(const PickInput& in, Rng& rng, std::vector<Score>* scores) override;
  Record record(const PickInput& /*in*/, const Candidate& /*chosen*/) override { return {}; }
};

}  // namespace rolter::balance
