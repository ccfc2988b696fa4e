#pragma once

#include <span>
#include <string_view>

#include "rolter/balance/scorer.h"

namespace rolter::balance {

/// The target's weight as a share of the greatest among the eligible.
class WeightScorer final : public Scorer {
 public:
  [[nodiscard]] std::string_view name() const override { return "weight"; }
  void score(const ScoreInput& in, std::span<double> scores) const override;
};

}  // namespace rolter::balance
