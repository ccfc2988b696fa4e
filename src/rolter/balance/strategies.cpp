#include "rolter/balance/strategies.h"

#include <algorithm>
#include <array>
#include <utility>

#include "rolter/balance/cache_aware.h"
#include "rolter/balance/least_load.h"
#include "rolter/balance/random.h"
#include "rolter/balance/round_robin.h"
#include "rolter/balance/weighted.h"

namespace rolter::balance {
namespace {

using config::StrategyKind;

template <typename T>
std::unique_ptr<Strategy> make_plain(const StrategyParts& /*parts*/) {
  return std::make_unique<T>();
}

RoutePrefixes prefixes_of(const StrategyParts& parts) {
  std::vector<std::shared_ptr<kvcache::PrefixTree>> trees;
  for (const cluster::RouteTarget& target : parts.targets) {
    trees.push_back(parts.trees.find(target.model));
  }
  return RoutePrefixes(std::move(trees));
}

OverloadRule overload_of(const config::Route& route) {
  return {.beyond = route.overload_abs, .times = route.overload_rel};
}

std::unique_ptr<Strategy> make_cache_aware(const StrategyParts& parts) {
  return std::make_unique<CacheAware>(
      CacheAwareSettings{.threshold = parts.route.threshold,
                         .min_match_bytes = parts.route.min_match_bytes,
                         .overload = overload_of(parts.route)},
      prefixes_of(parts));
}

/// One row per strategy; its name in the configuration is config::kStrategies'.
struct Row {
  StrategyKind kind;
  bool uses_prefix_tree;
  std::unique_ptr<Strategy> (*make)(const StrategyParts& parts);
};

constexpr auto kRows = std::to_array<Row>({
    {StrategyKind::kCacheAware, true, make_cache_aware},
    {StrategyKind::kRoundRobin, false, make_plain<RoundRobin>},
    {StrategyKind::kRandom, false, make_plain<Random>},
    {StrategyKind::kLeastLoad, false, make_plain<LeastLoad>},
    {StrategyKind::kWeighted, false, make_plain<Weighted>},
});

const Row* row_of(StrategyKind kind) {
  const auto row = std::ranges::find(kRows, kind, &Row::kind);
  return row == kRows.end() ? nullptr : &*row;
}

}  // namespace

std::unique_ptr<Strategy> make_strategy(const StrategyParts& parts) {
  const Row* const row = row_of(parts.route.strategy);
  return row == nullptr ? nullptr : row->make(parts);
}

std::vector<kvcache::PrefixTrees::Demand> prefix_tree_demands(const config::Config& config) {
  std::vector<kvcache::PrefixTrees::Demand> demands;
  for (const config::Route& route : config.routes) {
    const Row* const row = row_of(route.strategy);
    if (row == nullptr || !row->uses_prefix_tree) {
      continue;
    }
    for (const config::RouteTarget& target : route.targets) {
      demands.push_back({.model = target.model,
                         .limits = {.max_nodes_per_replica = route.max_nodes,
                                    .max_index_bytes = route.max_index_bytes}});
    }
  }
  return demands;
}

}  // namespace rolter::balance
