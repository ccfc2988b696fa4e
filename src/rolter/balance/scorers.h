#pragma once

#include <vector>

#include "rolter/balance/scorer.h"
#include "rolter/config/config.h"

namespace rolter::balance {

/// The pipeline's scorers with the weights of the route; those that count nothing are left out.
[[nodiscard]] std::vector<WeightedScorer> make_pipeline_scorers(
    const config::RouteWeights& weights);

}  // namespace rolter::balance
