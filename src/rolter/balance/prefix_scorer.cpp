#include "rolter/balance/prefix_scorer.h"

#include <algorithm>

namespace rolter::balance {

void PrefixScorer::score(const ScoreInput& in, std::span<double> scores) const {
  const auto length = static_cast<double>(std::max<std::size_t>(in.pick.prompt.text.size(), 1));
  std::ranges::transform(in.matched_bytes, scores.begin(), [length](std::size_t bytes) {
    return static_cast<double>(bytes) / length;
  });
}

}  // namespace rolter::balance
