#include "rolter/kvcache/prefix_score.h"

#include <algorithm>

namespace rolter::kvcache {
namespace {

/// Few marks: looks for each among the replicas. The same replica may be listed twice. Sixteen
/// replicas are compared at a time (vectors, no branches), since hardly any is the one.
template <typename Visit>
void visit_by_mark(std::span<const Mark> marks, std::span<const ReplicaSlot> replicas,
                   Visit visit) {
  constexpr std::size_t kChunk = 16;
  for (const Mark& mark : marks) {
    const ReplicaSlot slot{mark.slot};
    for (std::size_t start = 0; start < replicas.size(); start += kChunk) {
      const auto chunk = replicas.subspan(start, std::min(kChunk, replicas.size() - start));
      bool is_here = false;
      for (const ReplicaSlot replica : chunk) {
        is_here |= replica == slot;
      }
      for (std::size_t i = 0; is_here && i < chunk.size(); ++i) {
        if (chunk[i] == slot) {
          visit(start + i);
        }
      }
    }
  }
}

/// Many marks: looks for each replica among them, first beside the last one found, since routes
/// mostly list their targets in the order of the slots.
template <typename Visit>
void visit_by_replica(std::span<const Mark> marks, std::span<const ReplicaSlot> replicas,
                      Visit visit) {
  std::size_t next = 0;
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    const std::uint32_t slot = to_index(replicas[i]);
    if (next == marks.size() || marks[next].slot != slot) {
      next = place_of(marks, slot);
    }
    if (next < marks.size() && marks[next].slot == slot) {
      visit(i);
      ++next;
    }
  }
}

/// Calls visit(i) for every i whose replica is marked.
template <typename Visit>
void visit_marked(std::span<const Mark> marks, std::span<const ReplicaSlot> replicas, Visit visit) {
  // From this many replicas per mark on, a pass over them per mark is the cheaper way.
  constexpr std::size_t kReplicasPerMark = 8;
  if (marks.size() * kReplicasPerMark <= replicas.size()) {
    visit_by_mark(marks, replicas, visit);
  } else {
    visit_by_replica(marks, replicas, visit);
  }
}

/// Climbs from where a walk ended: the nodes whose marks differ from those of the node below.
class Climb {
 public:
  Climb(const RadixTree& tree, RadixTree::Reach reach)
      : tree_(tree), id_(reach.node), depth_(reach.matched) {
    skip_unchanged();
  }

  [[nodiscard]] bool is_over() const { return id_ == kNoId; }
  [[nodiscard]] std::span<const Mark> marks() const { return tree_.node(id_).marks.all(); }
  /// Bytes of the text that the replicas marked here share at least.
  [[nodiscard]] std::size_t depth() const { return depth_; }

  void next() {
    marks_below_ = marks().size();
    up();
    skip_unchanged();
  }

 private:
  void up() {
    id_ = tree_.node(id_).parent;
    depth_ = is_over() ? 0 : tree_.node(id_).depth;
  }
  void skip_unchanged() {
    while (!is_over() && marks().size() == marks_below_) {
      up();
    }
  }

  const RadixTree& tree_;
  NodeId id_;
  std::size_t depth_;
  std::size_t marks_below_ = 0;
};

}  // namespace

void score_all(const RadixTree& tree, RadixTree::Reach reach, std::span<const ReplicaSlot> replicas,
               std::span<std::size_t> matched_bytes) {
  std::ranges::fill(matched_bytes, 0);
  std::size_t missing = replicas.size();
  for (Climb climb(tree, reach); !climb.is_over() && missing > 0; climb.next()) {
    visit_marked(climb.marks(), replicas, [&](std::size_t i) {
      if (matched_bytes[i] == 0) {
        matched_bytes[i] = climb.depth();
        --missing;
      }
    });
  }
}

PrefixTree::BestMatch score_best(const RadixTree& tree, RadixTree::Reach reach,
                                 std::span<const ReplicaSlot> replicas,
                                 std::span<std::uint32_t> holders) {
  PrefixTree::BestMatch best;
  for (Climb climb(tree, reach); !climb.is_over() && best.holders == 0; climb.next()) {
    best.bytes = climb.depth();
    visit_marked(climb.marks(), replicas,
                 [&](std::size_t i) { holders[best.holders++] = static_cast<std::uint32_t>(i); });
  }
  if (best.holders == 0) {
    best.bytes = 0;
  }
  return best;
}

}  // namespace rolter::kvcache
