#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "rolter/balance/prefill_queues.h"
#include "rolter/balance/session_tables.h"
#include "rolter/balance/strategy.h"
#include "rolter/cluster/cluster_view.h"
#include "rolter/config/config.h"
#include "rolter/kvcache/prefix_trees.h"
#include "rolter/kvcache/residency.h"

namespace rolter::balance {

/// What a strategy is made from. Only its own construction may use the references.
struct StrategyParts {
  const config::Route& route;
  std::span<const cluster::RouteTarget> targets;  // as the route's
  const kvcache::PrefixTrees& trees;              // has applied prefix_tree_demands()
  const SessionTables& sessions;                  // has applied session_table_demands()
  std::shared_ptr<kvcache::Residency> residency;  // of all replicas
  std::shared_ptr<PrefillQueues> queues = {};     // of all replicas; none: the strategy's own
  const Strategy* before = nullptr;  // the route's strategy before a reload: rotations go on
};

/// Makes the route's strategy. nullptr for one whose index does not exist here yet: the caller says
/// so and uses another.
[[nodiscard]] std::unique_ptr<Strategy> make_strategy(const StrategyParts& parts);

/// The trees that the strategies of this configuration will use: one demand per route and upstream
/// model.
[[nodiscard]] std::vector<kvcache::PrefixTrees::Demand> prefix_tree_demands(
    const config::Config& config);

/// What learned chains may take: the max_index_bytes of all routes that learn some.
[[nodiscard]] std::size_t learned_chains_bytes(const config::Config& config);

/// The session tables likewise.
[[nodiscard]] std::vector<SessionTables::Demand> session_table_demands(
    const config::Config& config);

}  // namespace rolter::balance
