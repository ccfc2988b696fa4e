#include "rolter/balance/scorers.h"

#include <array>
#include <memory>

#include "rolter/balance/load_scorer.h"
#include "rolter/balance/prefix_scorer.h"
#include "rolter/balance/weight_scorer.h"

namespace rolter::balance {
namespace {

template <typename T>
std::unique_ptr<Scorer> make() {
  return std::make_unique<T>();
}

struct Row {
  std::unique_ptr<Scorer> (*make)();
  double (*weight)(const config::RouteWeights& weights);
};

constexpr auto kRows = std::to_array<Row>({
    {make<WeightScorer>, [](const config::RouteWeights& weights) { return weights.weight; }},
    {make<LoadScorer>,
     [](const config::RouteWeights& weights) { return weights.load.value_or(1); }},
    {make<PrefixScorer>, [](const config::RouteWeights& weights) { return weights.prefix; }},
});

}  // namespace

std::vector<WeightedScorer> make_pipeline_scorers(const config::RouteWeights& weights) {
  std::vector<WeightedScorer> scorers;
  for (const Row& row : kRows) {
    if (const double weight = row.weight(weights); weight != 0.0) {
      scorers.push_back({.scorer = row.make(), .weight = weight});
    }
  }
  return scorers;
}

}  // namespace rolter::balance
