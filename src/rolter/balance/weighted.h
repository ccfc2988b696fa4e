#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "rolter/balance/strategy.h"

namespace rolter::balance {

/// Smooth weighted round robin, as in nginx: each turn every eligible target gains its weight, the
/// one that has most is chosen and pays the sum. Shares are exact over a round, and a heavy
/// target's turns are spread over it instead of coming in a row. A target in slow start gains its
/// ramp's part.
class Weighted final : public Strategy {
 public:
  Weighted() = default;
  /// `labels` name the targets. `before`, if any, is the same route's of the configuration before:
  /// targets that stay keep what they have gained.
  Weighted(std::vector<std::string> labels, const Weighted* before);

  Decision pick(const PickInput& in, Rng& rng, std::vector<Score>* scores) override;
  Record record(const PickInput& /*in*/, const Candidate& /*chosen*/) override { return {}; }

 private:
  std::vector<std::string> labels_;
  mutable std::mutex mutex_;
  std::vector<double> gained_;  // by target
};

}  // namespace rolter::balance
