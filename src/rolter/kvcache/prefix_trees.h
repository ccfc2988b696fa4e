#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rolter/base/ids.h"
#include "rolter/kvcache/prefix_tree.h"

namespace rolter::kvcache {

/// The prefix trees of the process, one per upstream model: all routes to a model learn from each
/// other, and a reload forgets nothing. Any thread.
class PrefixTrees {
 public:
  /// What one route wants of its model's tree.
  struct Demand {
    std::string model;
    PrefixTreeLimits limits;
  };

  /// Makes the trees that are missing, sets the limits of all (where routes ask for different ones,
  /// the most generous) and lets go of those that nobody asks for. Who still holds one keeps it
  /// alive: requests of the old configuration finish with the trees they began with.
  void apply(std::span<const Demand> demands);

  /// The model's tree; nullptr unless the last apply() asked for it.
  [[nodiscard]] std::shared_ptr<PrefixTree> find(std::string_view model) const;

  /// Forgets the replica in every tree.
  void remove_replica(ReplicaSlot replica);

  struct Named {
    std::string model;
    PrefixTreeStats stats;
  };
  [[nodiscard]] std::vector<Named> stats() const;

 private:
  using Trees = std::map<std::string, std::shared_ptr<PrefixTree>, std::less<>>;

  [[nodiscard]] Trees all() const;

  mutable std::mutex mutex_;
  Trees trees_;
};

}  // namespace rolter::kvcache
