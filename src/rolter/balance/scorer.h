#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "rolter/balance/choices.h"
#include "rolter/balance/strategy.h"

namespace rolter::balance {

struct ScoreInput {
  const PickInput& pick;
  std::span<const std::size_t> matched_bytes;  // of the prompt, per eligible target
};

/// One opinion on the eligible targets, from 0 (avoid) to 1 (best there is). To add one: a file
/// pair and a row in scorers.cpp.
class Scorer {
 public:
  virtual ~Scorer() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Sets one score per eligible target; `scores` has their number.
  virtual void score(const ScoreInput& in, std::span<double> scores) const = 0;
};

/// A scorer and what its opinion counts.
struct WeightedScorer {
  std::unique_ptr<Scorer> scorer;
  double weight = 1.0;
};

/// The weighted sum for each eligible target. `rows`, when given, has one per eligible target and
/// gets the parts and the total.
void sum_scores(const ScoreInput& in, std::span<const WeightedScorer> scorers,
                PerCandidate<double>& totals, std::span<Score> rows);

}  // namespace rolter::balance
