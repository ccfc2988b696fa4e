#pragma once

#include <vector>

#include "rolter/balance/strategy.h"

namespace rolter::balance {

/// The target with the shortest queue: as scraped from the engine where known, our own requests in
/// flight otherwise. Ties at random, so that an idle fleet is used evenly.
class LeastLoad final : public Strategy {
 public:
  Decision pick(const PickInput& in, Rng& rng, std::vector<Score>* scores) override;
  Record record(const PickInput& /*in*/, const Candidate& /*chosen*/) override { return {}; }
};

}  // namespace rolter::balance
