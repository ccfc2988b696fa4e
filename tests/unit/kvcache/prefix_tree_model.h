#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "rolter/kvcache/prefix_tree.h"
#include "tests/unit/kvcache/naive_prefix_index.h"

namespace rolter::kvcache {

/// A prefix tree and its oracle, driven side by side. Every step compares all sums and ceilings;
/// fault() tells the first difference, "" while there is none.
class PrefixTreeModel {
 public:
  PrefixTreeModel(PrefixTreeLimits limits, std::size_t max_edge)
      : limits_(limits), tree_(limits, max_edge), naive_(limits, max_edge) {}

  [[nodiscard]] const std::string& fault() const { return fault_; }

  /// One insertion, as both sides name it.
  using Insertion = std::pair<PrefixTree::Ticket, NaivePrefixIndex::Life>;

  /// `trace` as for the tree; the oracle needs none.
  Insertion insert(std::uint64_t root, const std::string& text, std::uint32_t replica,
                   PrefixTree::Trace trace = {}) {
    const Insertion made{tree_.insert(root, text, ReplicaSlot{replica}, trace),
                         naive_.insert(root, text, replica)};
    expect("inserted", made.first != PrefixTree::Ticket::kNone, made.second != 0);
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

  PrefixTree::Trace match(std::uint64_t root, std::string_view text) {
    constexpr std::uint32_t kCount = NaivePrefixIndex::kReplicas;
    std::array<ReplicaSlot, kCount> replicas;
    std::array<std::size_t, kCount> all;
    std::array<std::uint32_t, kCount> holders;
    for (std::uint32_t i = 0; i < kCount; ++i) {
      // Not in the order of the slots, which has a path of its own.
      replicas[i] = ReplicaSlot{(i * 5 + 2) % kCount};
    }
    tree_.match(root, text, replicas, all);
    const PrefixTree::BestMatch best = tree_.match_best(root, text, replicas, holders);
    const std::size_t longest = *std::ranges::max_element(all);
    std::size_t holding = 0;
    for (std::uint32_t i = 0; i < kCount; ++i) {
      expect("match", all[i], naive_.match(root, text, to_index(replicas[i])));
      if (all[i] == longest && longest > 0) {
        expect("holder", holders[holding++], i);
      }
    }
    expect("best match", best.bytes, longest);
    expect("holders", best.holders, holding);
    expect("match by prompts", all[0], naive_.match_by_prompts(root, text, to_index(replicas[0])));
    return best.trace;
  }

 private:
  void compare() {
    const PrefixTreeStats stats = tree_.stats();
    const PrefixTreeStats naive = naive_.stats();
    expect("nodes", stats.nodes, naive.nodes);
    expect("roots", stats.roots, naive.roots);
    expect("marks", stats.marks, naive.marks);
    expect("prompts", stats.prompts, naive.prompts);
    expect("text_bytes", stats.text_bytes, naive.text_bytes);
    expect("index_bytes", stats.index_bytes, naive.index_bytes);
    expect("evicted_prompts", stats.evicted_prompts, naive.evicted_prompts);
    expect_within("index_bytes", stats.index_bytes, limits_.max_index_bytes);
    for (std::uint32_t replica = 0; replica < NaivePrefixIndex::kReplicas; ++replica) {
      const std::size_t nodes = tree_.held_nodes(ReplicaSlot{replica});
      expect("held_nodes", nodes, naive_.held_nodes(replica));
      expect("held_bytes", tree_.held_bytes(ReplicaSlot{replica}), naive_.held_bytes(replica));
      expect_within("held_nodes", nodes, limits_.max_nodes_per_replica);
    }
  }

  void expect(std::string_view what, std::size_t actual, std::size_t expected) {
    if (actual != expected) {
      report(what, actual, " expected ", expected);
    }
  }

  void expect_within(std::string_view what, std::size_t actual, std::size_t limit) {
    if (limit != 0 && actual > limit) {
      report(what, actual, " over the limit of ", limit);
    }
  }

  void report(std::string_view what, std::size_t actual, std::string_view relation,
              std::size_t other) {
    if (fault_.empty()) {
      fault_.append(what).append(": ").append(std::to_string(actual));
      fault_.append(relation).append(std::to_string(other));
    }
  }

  PrefixTreeLimits limits_;
  PrefixTree tree_;
  NaivePrefixIndex naive_;
  std::string fault_;
};

}  // namespace rolter::kvcache
