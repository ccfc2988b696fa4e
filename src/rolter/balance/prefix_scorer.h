#pragma once

#include <span>
#include <string_view>

#include "rolter/balance/scorer.h"

namespace rolter::balance {

/// The share of the prompt's leading bytes that the target has served before.
class PrefixScorer final : public Scorer {
 public:
  [[nodiscard]] std::string_view name() const override { return "prefix"; }
  void score(const ScoreInput& in, std::span<double> scores) const override;
};

}  // namespace rolter::balance
