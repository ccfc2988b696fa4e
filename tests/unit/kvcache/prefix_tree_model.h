#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include "rolter/kvcache/prefix_tree.h"
#include "tests/unit/kvcache/naive_prefix_index.h"

namespace rolter::kvcache {

/// A prefix tree and its oracle, driven side by side; every step is compared at once.
class PrefixTreeModel {
 public:
  PrefixTreeModel(PrefixTreeLimits limits, std::size_t max_edge)
      : limits_(limits), tree_(limits, max_edge), naive_(limits, max_edge) {}

  /// One insertion, as both sides name it.
  using Insertion = std::pair<PrefixTree::Ticket, NaivePrefixIndex::Life>;

  Insertion insert(std::uint64_t root, const std::string& text, std::uint32_t replica) {
    const Insertion made{tree_.insert(root, text, ReplicaSlot{replica}),
                         naive_.insert(root, text, replica)};
    EXPECT_EQ(made.first == PrefixTree::Ticket::kNone, made.second == 0);
    compare();
    return made;
  }

  void undo(Insertion insertion) {
    tree_.undo(insertion.first);
    naive_.undo(insertion.second);
    compare();
  }

  void remove_replica(std::uint32_t replica) {
    tree_.remove_replica(ReplicaSlot{replica});
    naive_.remove_replica(replica);
    compare();
  }

  void set_limits(PrefixTreeLimits limits) {
    limits_ = limits;
    tree_.set_limits(limits);
    naive_.set_limits(limits);
    compare();
  }

  void match(std::uint64_t root, std::string_view text) {
    std::array<ReplicaSlot, NaivePrefixIndex::kReplicas> replicas;
    std::array<std::size_t, NaivePrefixIndex::kReplicas> all;
    std::array<std::size_t, NaivePrefixIndex::kReplicas> best;
    for (std::uint32_t i = 0; i < replicas.size(); ++i) {
      // Not in the order of the slots, which has a path of its own.
      replicas[i] = ReplicaSlot{(i * 5 + 2) % NaivePrefixIndex::kReplicas};
    }
    tree_.match(root, text, replicas, all);
    tree_.match(root, text, replicas, best, PrefixTree::Scope::kBest);
    const std::size_t longest = *std::ranges::max_element(all);
    for (std::uint32_t i = 0; i < replicas.size(); ++i) {
      const std::uint32_t replica = to_index(replicas[i]);
      ASSERT_EQ(all[i], naive_.match(root, text, replica)) << "replica " << replica;
      ASSERT_EQ(best[i], all[i] == longest ? longest : 0) << "replica " << replica;
    }
    ASSERT_EQ(all[0], naive_.match_by_prompts(root, text, to_index(replicas[0])));
  }

  /// Sums and ceilings.
  void compare() const {
    const PrefixTreeStats stats = tree_.stats();
    const PrefixTreeStats expected = naive_.stats();
    ASSERT_EQ(stats.nodes, expected.nodes);
    ASSERT_EQ(stats.roots, expected.roots);
    ASSERT_EQ(stats.marks, expected.marks);
    ASSERT_EQ(stats.prompts, expected.prompts);
    ASSERT_EQ(stats.text_bytes, expected.text_bytes);
    ASSERT_EQ(stats.index_bytes, expected.index_bytes);
    ASSERT_EQ(stats.evicted_prompts, expected.evicted_prompts);
    ASSERT_TRUE(limits_.max_index_bytes == 0 || stats.index_bytes <= limits_.max_index_bytes);
    for (std::uint32_t replica = 0; replica < NaivePrefixIndex::kReplicas; ++replica) {
      const std::size_t nodes = tree_.held_nodes(ReplicaSlot{replica});
      ASSERT_EQ(nodes, naive_.held_nodes(replica));
      ASSERT_EQ(tree_.held_bytes(ReplicaSlot{replica}), naive_.held_bytes(replica));
      ASSERT_TRUE(limits_.max_nodes_per_replica == 0 || nodes <= limits_.max_nodes_per_replica);
    }
  }

 private:
  PrefixTreeLimits limits_;
  PrefixTree tree_;
  NaivePrefixIndex naive_;
};

}  // namespace rolter::kvcache
