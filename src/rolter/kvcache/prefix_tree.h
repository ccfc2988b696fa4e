#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "rolter/base/ids.h"
#include "rolter/kvcache/held_limit.h"

namespace rolter::kvcache {

class PromptWalk;

/// Bounds of one PrefixTree; all of them hold whenever a call has returned. 0 = no limit.
struct PrefixTreeLimits {
  std::size_t max_nodes_per_replica = 1'000'000;  // (node, replica) marks of one replica
  std::size_t max_index_bytes = 268'435'456;      // PrefixTreeStats::index_bytes
};

struct PrefixTreeStats {
  std::size_t nodes = 0;
  std::size_t roots = 0;        // they are not counted as nodes and carry no marks
  std::size_t marks = 0;        // (node, replica) pairs
  std::size_t prompts = 0;      // live (prompt, replica) pairs
  std::size_t text_bytes = 0;   // held by edges: every shared byte once
  std::size_t index_bytes = 0;  // what the live content costs, by kPrefixTreeCosts
  std::uint64_t evicted_prompts = 0;
};

/// What max_index_bytes charges, rounded up from what the parts take: a node with the heap's
/// overhead for its text and its place in the child index, a mark with its share of an array's
/// spare room, a prompt's record, a root with its map entry. Text is charged by the byte.
/// Memory once used is kept for reuse, each kind for itself, so that the process may hold more than
/// is charged when the traffic changes its nature: at worst each kind's own peak.
struct PrefixTreeCosts {
  std::size_t node = 80;
  std::size_t mark = 16;
  std::size_t prompt = 32;
  std::size_t root = 88;
};
inline constexpr PrefixTreeCosts kPrefixTreeCosts{};

/// The approximate index: which prompts each replica has served, as one compressed radix tree whose
/// nodes carry a mark per replica, so that one walk scores every replica at a cost that hardly
/// depends on their number.
///
/// Its answers equal those of a naive byte trie per replica. A prompt is live for a replica from
/// its insertion until it is undone, evicted or the replica removed; inserting it again makes it
/// the youngest. Eviction takes whole prompts, the one inserted longest ago first; nodes that
/// another live prompt passes through survive, and chains that no longer branch are merged again.
///
/// Nodes, exactly: in the byte trie of all live prompts of all replicas under one root, a vertex
/// other than the root is a node when a prompt ends there, or it has two children or more, or its
/// depth is a multiple of max_edge_bytes. A replica has a mark on each node that is a prefix of one
/// of its live prompts. The last rule bounds what a split or a merge copies, whatever the prompts.
///
/// An insertion keeps the ceilings in this order: the replica itself gives up its oldest prompts;
/// then, in ascending order of slot, every other replica that the split of an edge has lifted over
/// its ceiling; then, for the byte ceiling, the oldest prompts of all replicas.
///
/// Any thread may call anything: one mutex guards the tree. A call holds it for about the time it
/// takes to compare the text once, longer when many small prompts make room for a large one.
class PrefixTree {
 public:
  /// Long enough that an ordinary prompt never meets it, short enough to copy in microseconds.
  static constexpr std::size_t kMaxEdgeBytes = 65'536;

  /// `max_edge_bytes` > 0; tests lower it.
  explicit PrefixTree(PrefixTreeLimits limits, std::size_t max_edge_bytes = kMaxEdgeBytes);
  ~PrefixTree();
  PrefixTree(const PrefixTree&) = delete;
  PrefixTree& operator=(const PrefixTree&) = delete;

  /// Where a match has led, so that inserting the same text need not compare it again. Only ever a
  /// shortcut: without one, with one of another tree, or when the node is gone, insert() looks
  /// anew.
  struct Trace {
    std::uint32_t tree = 0;
    std::uint32_t node = 0;
    std::uint32_t generation = 0;
    std::uint32_t matched = 0;  // 0: no trace
  };

  /// For each replica the number of leading bytes of `text` under `root` that some live prompt of
  /// that replica shares. matched_bytes.size() == replicas.size(). Allocates nothing. Reading does
  /// not change what is evicted next.
  Trace match(std::uint64_t root, std::string_view text, std::span<const ReplicaSlot> replicas,
              std::span<std::size_t> matched_bytes) const;

  struct BestMatch {
    std::size_t bytes = 0;    // the greatest length of any of the replicas
    std::size_t holders = 0;  // how many of them have it; 0 when bytes is 0
    Trace trace;
  };
  /// The same, but only the best: fills the first places of `holders` with the positions in
  /// `replicas` of those that match furthest. holders.size() == replicas.size(). Its cost hardly
  /// depends on the number of replicas.
  BestMatch match_best(std::uint64_t root, std::string_view text,
                       std::span<const ReplicaSlot> replicas,
                       std::span<std::uint32_t> holders) const;

  /// Names one insertion, so that it can be undone. kNone: nothing was inserted.
  enum class Ticket : std::uint64_t { kNone = 0 };

  /// Records that `replica` has been sent `text`. A prompt that does not fit by itself is recorded
  /// as the longest prefix that does. An empty text records nothing. `trace`, if any, must come
  /// from matching the same text under the same root.
  Ticket insert(std::uint64_t root, std::string_view text, ReplicaSlot replica, Trace trace);
  Ticket insert(std::uint64_t root, std::string_view text, ReplicaSlot replica) {
    return insert(root, text, replica, Trace{});
  }

  /// Takes back an insertion that came to nothing. The prompt disappears when all its insertions
  /// since it became live have been taken back; until then it stays, at its newest age. After
  /// eviction this does nothing. At most once per ticket.
  void undo(Ticket ticket);

  /// The prompt of an insertion and what the engine has answered to it, which it holds as well:
  /// both are recorded as one more prompt of that replica. Nothing once the prompt is gone.
  void extend(Ticket ticket, std::string_view more);

  /// What the replica's engine has found of a prompt. Lowers or raises how many bytes are held for
  /// it, as HeldLimit says; what is over goes before this returns.
  void learn(ReplicaSlot replica, const HitReport& report);

  /// What has been learned of the replica so far; 0 = nothing.
  [[nodiscard]] std::size_t learned_bytes(ReplicaSlot replica) const;
  /// As if that had been learned; what is over goes before this returns. 0 = as if nothing had.
  void believe(ReplicaSlot replica, std::size_t bytes);

  /// Forgets everything of one replica (removed by a reload, or restarted with an empty cache).
  /// Lets other calls in between whiles: a replica may hold a million prompts.
  void remove_replica(ReplicaSlot replica);

  /// Evicts what is over the new limits before it returns.
  void set_limits(PrefixTreeLimits limits);

  /// Distinct bytes held for the replica, as in a trie of its own: what "least warmed" compares.
  [[nodiscard]] std::size_t held_bytes(ReplicaSlot replica) const;
  /// The same for many; bytes.size() == replicas.size().
  void held_bytes(std::span<const ReplicaSlot> replicas, std::span<std::size_t> bytes) const;
  /// Its marks: what max_nodes_per_replica bounds.
  [[nodiscard]] std::size_t held_nodes(ReplicaSlot replica) const;
  [[nodiscard]] PrefixTreeStats stats() const;

 private:
  friend class PromptWalk;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rolter::kvcache
