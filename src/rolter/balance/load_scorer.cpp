#include "rolter/balance/load_scorer.h"

#include <algorithm>
#include <cstdint>

namespace rolter::balance {

void LoadScorer::score(const ScoreInput& in, std::span<double> scores) const {
  constexpr std::uint32_t kLeastRange = 8;
  const std::span<const Candidate> eligible = in.pick.eligible;
  const auto [least, most] = std::ranges::minmax(eligible, {}, &Candidate::in_flight);
  const std::uint32_t floor = least.in_flight;
  const double range = std::max(most.in_flight - floor, kLeastRange);
  std::ranges::transform(eligible, scores.begin(), [floor, range](const Candidate& candidate) {
    return 1.0 - (candidate.in_flight - floor) / range;
  });
}

}  // namespace rolter::balance
