#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "rolter/base/ids.h"

namespace rolter::kvcache {

/// Bounds of one PrefixTree; both always hold when a call has returned.
struct PrefixTreeLimits {
  std::size_t max_nodes_per_replica = 1'000'000;  // (node, replica) marks of one replica
  std::size_t max_index_bytes = 268'435'456;      // nodes, marks, edges' text and bookkeeping
};

struct PrefixTreeStats {
  std::size_t nodes = 0;
  std::size_t marks = 0;        // (node, replica) pairs
  std::size_t prompts = 0;      // live (prompt, replica) pairs
  std::size_t text_bytes = 0;   // held by edges
  std::size_t index_bytes = 0;  // everything
  std::uint64_t evicted_prompts = 0;
};

/// The approximate index: which prompts each replica has served, as one compressed radix tree whose
/// nodes carry a mark per replica, so that one walk scores every replica at a cost that hardly
/// depends on their number.
///
/// Its answers equal those of a naive byte trie per replica. A prompt is live for a replica from
/// its insertion until it is undone, evicted or the replica removed; inserting it again makes it
/// the youngest. Eviction takes whole prompts, the one inserted longest ago first; nodes that
/// another live prompt passes through survive, and chains that no longer branch are merged again.
///
/// Any thread may call anything: the tree owns its locking.
class PrefixTree {
 public:
  explicit PrefixTree(PrefixTreeLimits limits);
  ~PrefixTree();
  PrefixTree(const PrefixTree&) = delete;
  PrefixTree& operator=(const PrefixTree&) = delete;

  /// For each replica the number of leading bytes of `text` under `root` that some live prompt of
  /// that replica shares. matched_bytes.size() == replicas.size(). Allocates nothing. Reading does
  /// not change what is evicted next.
  void match(std::uint64_t root, std::string_view text, std::span<const ReplicaSlot> replicas,
             std::span<std::size_t> matched_bytes) const;

  /// Names one insertion, so that it can be undone. 0 = nothing was inserted.
  enum class Ticket : std::uint64_t { kNone = 0 };

  /// Records that `replica` has been sent `text`. Prunes that replica's oldest prompts at once when
  /// it is over its ceiling; a prompt that does not fit by itself is recorded as the longest prefix
  /// that does. An empty text records nothing.
  Ticket insert(std::uint64_t root, std::string_view text, ReplicaSlot replica);

  /// Takes back an insertion that came to nothing: a prompt that was new disappears; one that was
  /// known already stays live, at its newer age. Undoing twice, or after eviction, does nothing.
  void undo(Ticket ticket);

  /// Forgets everything of one replica (removed by a reload, or restarted with an empty cache).
  void remove_replica(ReplicaSlot replica);

  /// Bytes of prompts held for the replica: what "least warmed" compares.
  [[nodiscard]] std::size_t held_bytes(ReplicaSlot replica) const;
  [[nodiscard]] std::size_t held_nodes(ReplicaSlot replica) const;
  [[nodiscard]] PrefixTreeStats stats() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rolter::kvcache
