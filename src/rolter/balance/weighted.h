#pragma once

#include <mutex>
#include <vector>

#include "rolter/balance/strategy.h"

namespace rolter::balance {

/// Smooth weighted round robin, as in nginx: each turn every eligible target gains its weight, the
/// one that has most is chosen and pays the sum. Shares are exact over a round, and a heavy
/// target's turns are spread over it instead of coming in a row. A target in slow start gains its
/// ramp's part.
class Weighted final : public Strategy {
 public:
  Decision pick(const PickInput& in, Rng& rng, std::vector<Score>* scores) override;
  Record record(const PickInput& /*in*/, const Candidate& /*chosen*/) override { return {}; }

 private:
  std::mutex mutex_;
  std::vector<double> gained_;  // by target
};

}  // namespace rolter::balance
