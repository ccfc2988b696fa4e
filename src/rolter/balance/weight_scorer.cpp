#include "rolter/balance/weight_scorer.h"

#include <algorithm>

namespace rolter::balance {

void WeightScorer::score(const ScoreInput& in, std::span<double> scores) const {
  const std::span<const Candidate> eligible = in.pick.eligible;
  const double greatest = std::ranges::max(eligible, {}, &Candidate::weight).weight;
  std::ranges::transform(eligible, scores.begin(), [greatest](const Candidate& candidate) {
    return candidate.weight / greatest;
  });
}

}  // namespace rolter::balance
