#pragma once

#include <vector>

#include "rolter/balance/load_scorer.h"
#include "rolter/balance/overload.h"
#include "rolter/balance/strategy.h"

namespace rolter::balance {

struct LmcacheSettings {
  double lmcache_weight = 1.0;  // of the free share of a target's LMCache
  double load_weight = 0.25;
  OverloadRule overload = {};
};

/// Sends a request to where the LMCache server has the most room: the eligible target with the
/// greatest weighted sum of its free share and of the load score; overloaded ones are passed over,
/// since occupancy follows the load only with the next poll. Of several that are equal the least
/// loaded, then any.
///
/// A server that says it is not available has no room. A target whose server gives no usable answer
/// counts as the mean of the known ones; when none is known, the least loaded target is chosen.
class LmcacheAware final : public Strategy {
 public:
  explicit LmcacheAware(const LmcacheSettings& settings) : settings_(settings) {}

  Decision pick(const PickInput& in, Rng& rng, std::vector<Score>* scores) override;
  Record record(const PickInput& /*in*/, const Candidate& /*chosen*/) override { return {}; }

 private:
  LmcacheSettings settings_;
  LoadScorer load_;
};

}  // namespace rolter::balance
