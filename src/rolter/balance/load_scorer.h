#pragma once

#include <span>
#include <string_view>

#include "rolter/balance/scorer.h"

namespace rolter::balance {

/// 1 for the least loaded, less by how much longer a queue is: relative to the spread of the loads,
/// or to 8 requests while the spread is smaller, so that one request more means little on an idle
/// fleet.
class LoadScorer final : public Scorer {
 public:
  [[nodiscard]] std::string_view name() const override { return "load"; }
  void score(const ScoreInput& in, std::span<double> scores) const override;
};

}  // namespace rolter::balance
