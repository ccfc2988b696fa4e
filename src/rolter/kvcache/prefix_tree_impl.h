#pragma once

#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "rolter/kvcache/prefix_tree.h"
#include "rolter/kvcache/prompt_ages.h"
#include "rolter/kvcache/radix_tree.h"
#include "rolter/kvcache/short_mutex.h"

namespace rolter::kvcache {

// Bounds that keep 32-bit ids and depths from overflowing when a limit is off or absurd.
inline constexpr std::size_t kMostTreeBytes = std::size_t{1} << 37;
inline constexpr std::size_t kMostTextBytes = std::size_t{1} << 31;
// Of working memory: longer texts are rare.
inline constexpr std::size_t kMostKeptText = 65'536;

[[nodiscard]] inline PrefixTreeLimits effective(PrefixTreeLimits limits) {
  const auto or_most = [](std::size_t limit, std::size_t most) {
    return limit == 0 ? most : std::min(limit, most);
  };
  return {.max_nodes_per_replica =
              or_most(limits.max_nodes_per_replica, std::numeric_limits<std::uint32_t>::max()),
          .max_index_bytes = or_most(limits.max_index_bytes, kMostTreeBytes)};
}

/// The inside of a PrefixTree, for it and for PromptWalk. All of it is under the mutex.
struct PrefixTree::Impl {
  Impl(std::uint32_t tree_id_in, PrefixTreeLimits limits_in, std::uint32_t max_edge_in)
      : tree_id(tree_id_in),
        limits(effective(limits_in)),
        max_edge(max_edge_in),
        radix(max_edge_in) {}

  const std::uint32_t tree_id;
  mutable ShortMutex mutex;
  PrefixTreeLimits limits;
  std::uint32_t max_edge;
  RadixTree radix;
  PromptAges ages;
  std::uint64_t evicted = 0;
  std::vector<HeldLimit> learned;  // by slot

  [[nodiscard]] Ticket ticket_of(PromptId id) const {
    return Ticket{(std::uint64_t{ages[id].generation} << 32) | (std::uint64_t{id} + 1)};
  }

  [[nodiscard]] std::size_t index_bytes() const {
    const RadixTree::Totals totals = radix.totals();
    return totals.text_bytes + totals.nodes * kPrefixTreeCosts.node +
           totals.marks * kPrefixTreeCosts.mark + totals.roots * kPrefixTreeCosts.root +
           ages.size() * kPrefixTreeCosts.prompt;
  }

  /// The greatest length of a prompt that would fit into an otherwise empty tree.
  [[nodiscard]] std::size_t fitting_bytes() const {
    constexpr std::size_t kFixed = kPrefixTreeCosts.root + kPrefixTreeCosts.prompt;
    constexpr std::size_t kPerNode = kPrefixTreeCosts.node + kPrefixTreeCosts.mark;
    if (limits.max_index_bytes <= kFixed) {
      return 0;
    }
    const std::size_t room = limits.max_index_bytes - kFixed;
    const std::size_t full = room / (kPerNode + max_edge);
    const std::size_t rest = room % (kPerNode + max_edge);
    const std::size_t by_bytes = full * max_edge + (rest > kPerNode ? rest - kPerNode : 0);
    return std::min({by_bytes, limits.max_nodes_per_replica * max_edge, kMostTextBytes});
  }

  void remove(PromptId id) {
    radix.detach(ages[id].end, ages[id].replica);
    ages.remove(id);
  }

  void evict(PromptId id) {
    remove(id);
    ++evicted;
  }

  [[nodiscard]] bool is_over(ReplicaSlot replica) const {
    return radix.share(replica).marks > limits.max_nodes_per_replica;
  }

  [[nodiscard]] bool is_over_learned(ReplicaSlot replica) const {
    const std::size_t limit = learned_bytes(replica);
    return limit != 0 && radix.share(replica).bytes > limit;
  }

  [[nodiscard]] std::size_t learned_bytes(ReplicaSlot replica) const {
    const std::size_t slot = to_index(replica);
    return slot < learned.size() ? learned[slot].bytes() : 0;
  }

  HeldLimit& limit_of(ReplicaSlot replica) {
    if (to_index(replica) >= learned.size()) {
      learned.resize(to_index(replica) + 1);
    }
    return learned[to_index(replica)];
  }

  void learn(ReplicaSlot replica, const HitReport& report) {
    limit_of(replica).learn(report, radix.share(replica).bytes);
    evict_over_learned(replica);
  }

  /// The youngest prompt stays, however long.
  void evict_over_learned(ReplicaSlot replica) {
    while (is_over_learned(replica) && ages.size_of(replica) > 1) {
      evict(ages.oldest_of(replica));
    }
  }

  PromptId add(RadixTree::End end, ReplicaSlot replica) {
    const PromptId id = ages.add(end.node, replica);
    radix.attach(end.node, replica, id);
    return id;
  }

  void evict_over_bytes() {
    while (index_bytes() > limits.max_index_bytes) {
      evict(ages.oldest());
    }
  }

  /// Brings the inserting replica under its node ceiling. Prompts of others may branch off so often
  /// along the new one that not even it alone fits: then it ends at the deepest node that does.
  [[nodiscard]] PromptId fit_own(PromptId added, std::uint64_t root, std::string_view text) {
    const ReplicaSlot replica = ages[added].replica;
    while (is_over(replica) && ages.size_of(replica) > 1) {
      evict(ages.oldest_of(replica));
    }
    if (!is_over(replica)) {
      return added;
    }
    NodeId end = ages[added].end;
    for (std::size_t n = radix.share(replica).marks; n > limits.max_nodes_per_replica; --n) {
      end = radix.node(end).parent;
    }
    const std::size_t fitting = radix.node(end).depth;
    remove(added);
    text = text.substr(0, fitting);
    return add(radix.make_end(root, text, radix.walk(root, text)), replica);
  }

  [[nodiscard]] Trace trace_of(RadixTree::Reach reach) const {
    if (reach.matched == 0) {
      return {};
    }
    return {.tree = tree_id,
            .node = reach.node,
            .generation = radix.node(reach.node).generation,
            .matched = reach.matched};
  }

  [[nodiscard]] RadixTree::Reach reach(std::uint64_t root, std::string_view text,
                                       Trace trace) const {
    if (trace.matched == 0 || trace.tree != tree_id ||
        radix.node(trace.node).generation != trace.generation) {
      return radix.walk(root, text);
    }
    const RadixTree::Reach found =
        radix.resume({.node = trace.node, .matched = trace.matched}, text);
    assert(found == radix.walk(root, text));  // else the trace is of another text
    return found;
  }

  Ticket insert(std::uint64_t root, std::string_view text, ReplicaSlot replica, Trace trace) {
    text = text.substr(0, fitting_bytes());
    if (text.empty()) {
      return Ticket::kNone;
    }
    const RadixTree::End end = radix.make_end(root, text, reach(root, text, trace));
    PromptId id = radix.prompt_at(end.node, replica);
    if (id != kNoId) {
      ages.renew(id);
      return ticket_of(id);
    }
    id = add(end, replica);
    absl::InlinedVector<ReplicaSlot, 16> lifted;
    if (end.split != kNoId) {
      for (const Mark& mark : radix.node(end.split).marks.all()) {
        const ReplicaSlot other{mark.slot};
        if (other != replica && is_over(other)) {
          lifted.push_back(other);
        }
      }
    }
    evict_over_learned(replica);
    id = fit_own(id, root, text);
    for (const ReplicaSlot other : lifted) {
      while (is_over(other)) {
        evict(ages.oldest_of(other));
      }
    }
    evict_over_bytes();
    return ticket_of(id);
  }

  /// The prompt that a ticket names; kNoId once it is gone.
  [[nodiscard]] PromptId find(Ticket ticket) const {
    const auto bits = static_cast<std::uint64_t>(ticket);
    const auto id = static_cast<PromptId>(bits & 0xffff'ffff) - 1;
    return ticket != Ticket::kNone && ages[id].generation == bits >> 32 ? id : kNoId;
  }

  void extend(PromptId id, std::string_view more) {
    const PromptAges::Prompt prompt = ages[id];
    spelled.clear();
    const std::uint64_t root = radix.spell(prompt.end, spelled);
    const Trace trace = trace_of({.node = prompt.end, .matched = radix.node(prompt.end).depth});
    spelled += more;
    insert(root, spelled, prompt.replica, trace);
    if (spelled.capacity() > kMostKeptText) {
      spelled = {};
    }
  }

 private:
  std::string spelled;  // working memory
};

}  // namespace rolter::kvcache
