#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rolter/base/ids.h"
#include "rolter/kvcache/child_index.h"
#include "rolter/kvcache/radix_node.h"

namespace rolter::kvcache {

/// The compressed tree under a PrefixTree: nodes, edges and marks. It knows neither ages nor
/// ceilings. A node's id means the same string of bytes for as long as the node lives: a split puts
/// a new node above the old one, a merge takes the upper one away. Not thread-safe. No recursion: a
/// prompt may be 100,000 nodes deep.
class RadixTree {
 public:
  /// `max_edge` > 0: no edge crosses a depth that is a multiple of it.
  explicit RadixTree(std::uint32_t max_edge);

  /// How far a text leads into the tree.
  struct Reach {
    NodeId node = kNoId;        // the deepest node whose edge shares a byte; kNoId: no such root
    std::uint32_t matched = 0;  // bytes; less than the node's depth when its edge is left midway
    bool operator==(const Reach&) const = default;
  };
  [[nodiscard]] Reach walk(std::uint64_t root, std::string_view text) const;
  /// Goes on from where an earlier walk of the same text got to, whatever the tree has been through
  /// since, as long as the node of that walk is still alive.
  [[nodiscard]] Reach resume(Reach reach, std::string_view text) const;

  struct End {
    NodeId node = kNoId;   // at exactly the end of the text
    NodeId split = kNoId;  // the node put into an existing edge for it, if any (may be `node`)
  };
  /// The node at the end of `text` (not empty; at most 2^31 bytes), made if need be; `reach` is how
  /// far the text leads now. A node that was made must get a prompt by attach() before anything
  /// else changes.
  [[nodiscard]] End make_end(std::uint64_t root, std::string_view text, Reach reach);

  /// The replica's prompt that ends at the node, or kNoId.
  [[nodiscard]] std::uint32_t prompt_at(NodeId end, ReplicaSlot replica) const;

  /// Lets `prompt` end at the node. The replica must have none there.
  void attach(NodeId end, ReplicaSlot replica, std::uint32_t prompt);
  /// Takes it away, with the marks and nodes that only it needed.
  void detach(NodeId end, ReplicaSlot replica);

  /// Appends the bytes from the root to the end of the node. Returns the root's key.
  std::uint64_t spell(NodeId end, std::string& text) const;

  [[nodiscard]] const Node& node(NodeId id) const { return nodes_[id]; }

  /// What one replica holds.
  struct Share {
    std::size_t marks = 0;
    std::size_t bytes = 0;  // what a trie of its own would hold: a shared prefix counts once
  };
  [[nodiscard]] Share share(ReplicaSlot replica) const;

  struct Totals {
    std::size_t nodes = 0;  // without the roots
    std::size_t roots = 0;
    std::size_t marks = 0;
    std::size_t text_bytes = 0;
  };
  [[nodiscard]] Totals totals() const;

 private:
  [[nodiscard]] NodeId root_for(std::uint64_t key);
  [[nodiscard]] Reach descend(Reach reach, std::string_view text) const;
  [[nodiscard]] NodeId child_of(NodeId parent, char first) const;
  void adopt(NodeId parent, NodeId child);
  void disown(NodeId parent, NodeId child);
  void replace_child(NodeId parent, NodeId old_child, NodeId new_child);

  [[nodiscard]] NodeId append(NodeId parent, std::string_view text);
  [[nodiscard]] NodeId split(NodeId lower, std::uint32_t depth);
  void merge_into_child(NodeId upper);
  void remove_leaf(NodeId leaf);
  void tidy(NodeId id);
  void free_node(NodeId id);

  Share& share_of(ReplicaSlot replica);
  void add_mark(Node& node, ReplicaSlot replica);
  void drop_mark(Node& node, const Mark* mark);

  std::uint32_t max_edge_;
  NodeSlab nodes_;
  ChildIndex child_index_{nodes_};
  absl::flat_hash_map<std::uint64_t, NodeId> roots_;
  std::vector<Share> shares_;  // by slot
  std::size_t marks_ = 0;
  std::size_t text_bytes_ = 0;
};

}  // namespace rolter::kvcache
