#include "rolter/kvcache/prefix_trees.h"

#include <algorithm>
#include <utility>

namespace rolter::kvcache {
namespace {

std::size_t more_generous(std::size_t a, std::size_t b) {
  return a == 0 || b == 0 ? 0 : std::max(a, b);  // 0 = no limit
}

}  // namespace

void PrefixTrees::apply(std::span<const Demand> demands) {
  std::map<std::string_view, PrefixTreeLimits> wanted;
  for (const Demand& demand : demands) {
    const auto [at, is_new] = wanted.emplace(demand.model, demand.limits);
    if (!is_new) {
      PrefixTreeLimits& limits = at->second;
      limits.max_nodes_per_replica =
          more_generous(limits.max_nodes_per_replica, demand.limits.max_nodes_per_replica);
      limits.max_index_bytes = more_generous(limits.max_index_bytes, demand.limits.max_index_bytes);
    }
  }
  Trees trees;
  const std::lock_guard lock(mutex_);
  for (const auto& [model, limits] : wanted) {
    if (const auto known = trees_.find(model); known != trees_.end()) {
      known->second->set_limits(limits);
      trees.emplace(model, known->second);
    } else {
      trees.emplace(model, std::make_shared<PrefixTree>(limits));
    }
  }
  trees_.swap(trees);
}

std::shared_ptr<PrefixTree> PrefixTrees::find(std::string_view model) const {
  const std::lock_guard lock(mutex_);
  const auto found = trees_.find(model);
  return found == trees_.end() ? nullptr : found->second;
}

void PrefixTrees::remove_replica(ReplicaSlot replica) {
  for (const auto& [model, tree] : all()) {
    tree->remove_replica(replica);
  }
}

std::vector<PrefixTrees::Named> PrefixTrees::stats() const {
  std::vector<Named> stats;
  for (const auto& [model, tree] : all()) {
    stats.push_back({model, tree->stats()});
  }
  return stats;
}

/// A copy, so that no tree is worked on under the registry's lock.
PrefixTrees::Trees PrefixTrees::all() const {
  const std::lock_guard lock(mutex_);
  return trees_;
}

}  // namespace rolter::kvcache
