#include "rolter/kvcache/prefix_score.h"

#include <algorithm>
#include <cstdint>

namespace rolter::kvcache {
namespace {

/// What one pass has found so far; a length of 0 means not found yet.
struct Scores {
  std::span<const ReplicaSlot> replicas;
  std::span<std::size_t> matched;
  std::size_t missing;

  void credit(std::size_t i, std::size_t depth) {
    if (matched[i] == 0) {
      matched[i] = depth;
      --missing;
    }
  }
};

/// Few marks: look for each among the replicas. The same replica may be listed twice.
void credit_each_mark(std::span<const Mark> marks, std::size_t depth, Scores& scores) {
  for (const Mark& mark : marks) {
    const ReplicaSlot slot{mark.slot};
    for (std::size_t i = 0; i < scores.replicas.size(); ++i) {
      if (scores.replicas[i] == slot) {
        scores.credit(i, depth);
      }
    }
  }
}

/// Many marks: look for each replica among them, first beside the last one found, since routes
/// mostly list their targets in the order of the slots.
void credit_each_replica(std::span<const Mark> marks, std::size_t depth, Scores& scores) {
  std::size_t next = 0;
  for (std::size_t i = 0; i < scores.replicas.size(); ++i) {
    const std::uint32_t slot = to_index(scores.replicas[i]);
    if (next == marks.size() || marks[next].slot != slot) {
      next = place_of(marks, slot);
    }
    if (next < marks.size() && marks[next].slot == slot) {
      scores.credit(i, depth);
      ++next;
    }
  }
}

}  // namespace

void score_replicas(const RadixTree& tree, RadixTree::Reach reach,
                    std::span<const ReplicaSlot> replicas, std::span<std::size_t> matched_bytes,
                    PrefixTree::Scope scope) {
  // Up to this many replicas per mark, a search per mark is the cheaper one.
  constexpr std::size_t kReplicasPerMark = 8;

  std::ranges::fill(matched_bytes, 0);
  Scores scores{replicas, matched_bytes, replicas.size()};
  std::size_t depth = reach.matched;
  std::size_t marks_below = 0;
  NodeId id = reach.node;
  while (id != kNoId && scores.missing > 0) {
    const Node& node = tree.node(id);
    const std::span<const Mark> marks = node.marks.all();
    if (marks.size() != marks_below) {
      if (marks.size() * kReplicasPerMark < replicas.size()) {
        credit_each_mark(marks, depth, scores);
      } else {
        credit_each_replica(marks, depth, scores);
      }
    }
    if (scope == PrefixTree::Scope::kBest && scores.missing < replicas.size()) {
      return;
    }
    marks_below = marks.size();
    id = node.parent;
    depth = id == kNoId ? 0 : tree.node(id).depth;
  }
}

}  // namespace rolter::kvcache
