#include "rolter/balance/strategies.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "rolter/balance/cache_aware.h"
#include "rolter/balance/consistent_hash.h"
#include "rolter/balance/least_load.h"
#include "rolter/balance/lmcache_aware.h"
#include "rolter/balance/pipeline.h"
#include "rolter/balance/power_of_two.h"
#include "rolter/balance/precise_cache_aware.h"
#include "rolter/balance/predicted_ttft.h"
#include "rolter/balance/random.h"
#include "rolter/balance/round_robin.h"
#include "rolter/balance/scorers.h"
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

std::unique_ptr<Strategy> make_pipeline(const StrategyParts& parts) {
  return std::make_unique<Pipeline>(
      Pipeline::Parts{.scorers = make_pipeline_scorers(parts.route.weights),
                      .prefixes = prefixes_of(parts),
                      .sessions = parts.sessions.find(parts.route.model),
                      .overload = overload_of(parts.route)});
}

// Far below what the cache is worth: of two replicas that hold equally much the less busy one.
constexpr double kLoadWeightBesideCache = 0.25;

std::vector<std::string> models_of(const StrategyParts& parts) {
  std::vector<std::string> models;
  for (const cluster::RouteTarget& target : parts.targets) {
    models.push_back(target.model);
  }
  return models;
}

RouteResidency residency_of(const StrategyParts& parts) {
  return {parts.residency, models_of(parts),
          parts.route.tag_requests ? Learning::kOn : Learning::kOff, parts.route.model};
}

std::unique_ptr<Strategy> make_precise_cache_aware(const StrategyParts& parts) {
  const config::RouteWeights& weights = parts.route.weights;
  return std::make_unique<PreciseCacheAware>(
      PreciseSettings{.precise_weight = weights.precise,
                      .load_weight = weights.load.value_or(kLoadWeightBesideCache),
                      .overload = overload_of(parts.route),
                      .optimistic = parts.route.optimistic},
      residency_of(parts),
      parts.route.fallback_score_prefix ? std::optional(prefixes_of(parts)) : std::nullopt);
}

std::unique_ptr<Strategy> make_predicted_ttft(const StrategyParts& parts) {
  const auto* const before = dynamic_cast<const PredictedTtft*>(parts.before);
  return std::make_unique<PredictedTtft>(PredictedTtft::Parts{
      .miss_weight = parts.route.miss_weight,
      .optimistic = parts.route.optimistic,
      .prefixes = prefixes_of(parts),
      .residency = residency_of(parts),
      .queues = parts.queues ? parts.queues : std::make_shared<PrefillQueues>(),
      .token_size = before == nullptr ? std::make_shared<TokenSize>() : before->token_size()});
}

std::unique_ptr<Strategy> make_lmcache_aware(const StrategyParts& parts) {
  const config::RouteWeights& weights = parts.route.weights;
  return std::make_unique<LmcacheAware>(
      LmcacheSettings{.lmcache_weight = weights.lmcache,
                      .load_weight = weights.load.value_or(kLoadWeightBesideCache),
                      .overload = overload_of(parts.route)});
}

std::vector<std::string> labels_of(const StrategyParts& parts) {
  std::vector<std::string> labels;
  for (const cluster::RouteTarget& target : parts.targets) {
    labels.push_back(target.label);
  }
  return labels;
}

std::unique_ptr<Strategy> make_consistent_hash(const StrategyParts& parts) {
  return std::make_unique<ConsistentHash>(labels_of(parts), overload_of(parts.route));
}

std::unique_ptr<Strategy> make_round_robin(const StrategyParts& parts) {
  return std::make_unique<RoundRobin>(dynamic_cast<const RoundRobin*>(parts.before));
}

std::unique_ptr<Strategy> make_weighted(const StrategyParts& parts) {
  return std::make_unique<Weighted>(labels_of(parts), dynamic_cast<const Weighted*>(parts.before));
}

/// What a strategy remembers beyond a reload.
enum class Memory : std::uint8_t { kNone, kPrefixes, kPrefixesAndSessions };

/// One row per strategy; its name in the configuration is config::kStrategies'.
struct Row {
  StrategyKind kind;
  Memory memory;
  std::unique_ptr<Strategy> (*make)(const StrategyParts& parts);
};

constexpr auto kRows = std::to_array<Row>({
    {StrategyKind::kCacheAware, Memory::kPrefixes, make_cache_aware},
    {StrategyKind::kPipeline, Memory::kPrefixesAndSessions, make_pipeline},
    {StrategyKind::kPreciseCacheAware, Memory::kNone, make_precise_cache_aware},
    {StrategyKind::kLmcacheAware, Memory::kNone, make_lmcache_aware},
    {StrategyKind::kPredictedTtft, Memory::kPrefixes, make_predicted_ttft},
    {StrategyKind::kRoundRobin, Memory::kNone, make_round_robin},
    {StrategyKind::kRandom, Memory::kNone, make_plain<Random>},
    {StrategyKind::kLeastLoad, Memory::kNone, make_plain<LeastLoad>},
    {StrategyKind::kWeighted, Memory::kNone, make_weighted},
    {StrategyKind::kPowerOfTwo, Memory::kNone, make_plain<PowerOfTwo>},
    {StrategyKind::kConsistentHash, Memory::kNone, make_consistent_hash},
});

const Row* row_of(StrategyKind kind) {
  const auto row = std::ranges::find(kRows, kind, &Row::kind);
  return row == kRows.end() ? nullptr : &*row;
}

Memory memory_of(const config::Route& route) {
  const Row* const row = row_of(route.strategy);
  if (route.strategy == StrategyKind::kPreciseCacheAware && route.fallback_score_prefix) {
    return Memory::kPrefixes;
  }
  return row == nullptr ? Memory::kNone : row->memory;
}

}  // namespace

std::unique_ptr<Strategy> make_strategy(const StrategyParts& parts) {
  const Row* const row = row_of(parts.route.strategy);
  return row == nullptr ? nullptr : row->make(parts);
}

std::vector<kvcache::PrefixTrees::Demand> prefix_tree_demands(const config::Config& config) {
  std::vector<kvcache::PrefixTrees::Demand> demands;
  for (const config::Route& route : config.routes) {
    if (memory_of(route) == Memory::kNone) {
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

std::size_t learned_chains_bytes(const config::Config& config) {
  std::size_t bytes = 0;
  for (const config::Route& route : config.routes) {
    const bool uses_events = route.strategy == StrategyKind::kPreciseCacheAware ||
                             route.strategy == StrategyKind::kPredictedTtft;
    if (uses_events && route.tag_requests) {
      bytes += route.max_index_bytes;
    }
  }
  return bytes;
}

std::vector<SessionTables::Demand> session_table_demands(const config::Config& config) {
  std::vector<SessionTables::Demand> demands;
  for (const config::Route& route : config.routes) {
    if (memory_of(route) == Memory::kPrefixesAndSessions) {
      demands.push_back({.route = route.model,
                         .limits = {.max_sessions = std::max<std::size_t>(route.max_sessions, 1),
                                    .ttl = route.session_ttl}});
    }
  }
  return demands;
}

}  // namespace rolter::balance
