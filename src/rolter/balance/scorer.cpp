#include "rolter/balance/scorer.h"

namespace rolter::balance {

void sum_scores(const ScoreInput& in, std::span<const WeightedScorer> scorers,
                PerCandidate<double>& totals, std::span<Score> rows) {
  totals.assign(in.pick.eligible.size(), 0.0);
  PerCandidate<double> scores(totals.size());
  for (const WeightedScorer& weighted : scorers) {
    weighted.scorer->score(in, {scores.data(), scores.size()});
    for (std::size_t i = 0; i < totals.size(); ++i) {
      totals[i] += weighted.weight * scores[i];
      if (!rows.empty()) {
        rows[i].parts.emplace_back(weighted.scorer->name(), scores[i]);
        rows[i].total = totals[i];
      }
    }
  }
}

}  // namespace rolter::balance
