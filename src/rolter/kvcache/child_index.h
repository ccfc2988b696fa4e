#pragma once

#include <absl/container/flat_hash_set.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rolter/kvcache/radix_node.h"

namespace rolter::kvcache {

/// Finds a child by its parent and first byte, for all nodes with two or more children; an only
/// child needs no index. One hash set of 4-byte ids for the whole tree: 6 to 12 bytes per child
/// whatever the fan-out. It is cut into 64 sets by hash, so that the growth of one (which reads
/// every node in it) stalls the tree for a 64th of the time.
class ChildIndex {
 public:
  /// `nodes` must outlive the index.
  explicit ChildIndex(const NodeSlab& nodes);

  /// kNoId when there is none.
  [[nodiscard]] NodeId find(NodeId parent, char first) const;

  /// The node's parent and first byte must stay as they are until it is erased.
  void insert(NodeId child);
  void erase(NodeId child);

 private:
  struct Key {
    NodeId parent = kNoId;
    char first = 0;
    bool operator==(const Key&) const = default;
  };
  [[nodiscard]] static std::uint64_t hash_of(Key key);
  [[nodiscard]] static Key key_of(const NodeSlab& nodes, NodeId id) {
    return {nodes[id].parent, nodes[id].first};
  }

  struct Hash {
    using is_transparent = void;
    const NodeSlab* nodes;
    std::size_t operator()(Key key) const { return hash_of(key); }
    std::size_t operator()(NodeId id) const { return hash_of(key_of(*nodes, id)); }
  };
  struct Equal {
    using is_transparent = void;
    const NodeSlab* nodes;
    bool operator()(NodeId a, NodeId b) const { return a == b; }
    bool operator()(NodeId id, Key key) const { return key_of(*nodes, id) == key; }
    bool operator()(Key key, NodeId id) const { return key_of(*nodes, id) == key; }
  };
  using Set = absl::flat_hash_set<NodeId, Hash, Equal>;

  [[nodiscard]] Set& set_for(Key key) { return sets_[hash_of(key) % kSets]; }
  [[nodiscard]] const Set& set_for(Key key) const { return sets_[hash_of(key) % kSets]; }

  static constexpr std::size_t kSets = 64;

  const NodeSlab& nodes_;
  std::vector<Set> sets_;
};

}  // namespace rolter::kvcache
