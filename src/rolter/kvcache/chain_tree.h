#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "rolter/kvcache/chain_key.h"
#include "rolter/kvcache/prompt_marks.h"

namespace rolter::kvcache {

/// Prompts by the marks of their text, each with the chain of blocks that engines made of it: how
/// many blocks a text that is known up to a mark has in common with what was seen before.
///
/// A node is what one prompt added to those before it: its marks, and the keys of its chain from
/// where that leaves its parent's. Some marks know their tokens: those where a prompt ended, as
/// engine or events told, and those where two texts part and their chains do. Between them it
/// interpolates and rounds down.
///
/// Memory: about 45 bytes per mark and 8 per block, within max_bytes; over it the prompt that was
/// used longest ago leaves, never one before those that go on from it. Holds no text. Not
/// thread-safe.
class ChainTree {
 public:
  using NodeIndex = std::uint32_t;
  static constexpr NodeIndex kRoot = 0;

  explicit ChainTree(std::size_t max_bytes);

  /// Where a prompt leaves what is known. The root: nowhere.
  struct Place {
    NodeIndex node = kRoot;
    std::uint32_t generation = 0;  // of the node
    std::uint32_t mark = 0;        // of the node; meaningless at the root
    std::size_t passed = 0;        // marks of the prompt that are known
  };
  /// A search in halves, from the end: where a mark is known, all before it are.
  [[nodiscard]] Place find(std::span<const PromptMark> marks) const;
  /// The same, after an earlier find() of these marks: one step unless more is known since, or
  /// less.
  [[nodiscard]] Place find_again(std::span<const PromptMark> marks, const Place& before) const;

  enum class Replies : std::uint8_t { kIgnored, kCounted };
  /// Tokens up to the place, at most: all blocks that they fill are the chain's.
  [[nodiscard]] std::uint32_t tokens_at(Place place, Replies replies) const;
  /// Blocks of the chain that goes through this node, prompt and reply.
  [[nodiscard]] std::size_t blocks_of(NodeIndex node) const {
    return nodes_[node].first_block + nodes_[node].chain.size();
  }
  /// Replaces `chain` by the first `blocks` keys of it, fewer where it has been cut since.
  void chain_of(NodeIndex node, std::size_t blocks, std::vector<ChainKey>& chain) const;

  /// What is known of a prompt, as a whole.
  struct Prompt {
    std::span<const PromptMark> marks;
    PromptKind kind = PromptKind::kText;
    std::uint32_t block_size = 0;
    std::uint64_t tag = 0;
  };
  /// Names a node for as long as it lives.
  struct Name {
    NodeIndex node = kRoot;
    std::uint32_t generation = 0;
    bool operator==(const Name&) const = default;
  };
  /// Adds a prompt that leaves the known ones at `place`, before its end. The first `common` keys
  /// of `chain` are those of the place's node.
  Name add(const Prompt& prompt, Place place, std::span<const ChainKey> chain, std::size_t common);

  [[nodiscard]] Name name_of(NodeIndex node) const { return {node, nodes_[node].generation}; }
  [[nodiscard]] bool is_alive(Name name) const {
    return name.node != kRoot && name.node < nodes_.size() && nodes_[name.node].is_used &&
           nodes_[name.node].generation == name.generation;
  }
  /// The last mark of the prompt that made the node.
  [[nodiscard]] std::uint32_t end_mark(NodeIndex node) const { return nodes_[node].end_mark; }
  [[nodiscard]] std::uint64_t tag(NodeIndex node) const { return nodes_[node].tag; }

  /// Two chains part behind this mark after `blocks` common blocks: no more count there from now
  /// on.
  void part(Place place, std::uint32_t blocks);
  /// The prompt that made the node has that many tokens.
  void set_prompt_tokens(NodeIndex node, std::uint32_t tokens);
  /// The engine has said how many: as many as that.
  void confirm(NodeIndex node, std::uint32_t tokens) {
    Node& it = nodes_[node];
    it.confirmed = it.marks[it.end_mark].tokens == tokens;
  }
  /// Whether the prompt that ends at the place is known with all its blocks, on an engine's word.
  [[nodiscard]] bool is_whole(Place place) const {
    return place.node != kRoot && place.mark == nodes_[place.node].end_mark &&
           nodes_[place.node].confirmed && prompt_blocks(place.node) <= blocks_of(place.node);
  }
  /// The node's chain from block `first` on, which must not be before its own beginning.
  void set_chain(NodeIndex node, std::size_t first, std::span<const ChainKey> keys);
  /// The reply that followed the node's prompt, all of whose blocks are in its chain.
  void add_reply(NodeIndex node, std::span<const PromptMark> marks);
  [[nodiscard]] bool has_reply(NodeIndex node) const {
    return nodes_[node].reply_from < nodes_[node].marks.size();
  }
  /// Whether the place lies in a reply, and whether it is its end.
  [[nodiscard]] bool in_reply(Place place) const {
    return place.node != kRoot && place.mark >= nodes_[place.node].reply_from;
  }
  [[nodiscard]] bool ends_reply(Place place) const {
    return in_reply(place) && place.mark + 1 == nodes_[place.node].marks.size();
  }
  /// Full blocks of the prompt that made the node.
  [[nodiscard]] std::size_t prompt_blocks(NodeIndex node) const {
    return nodes_[node].marks[nodes_[node].end_mark].tokens / nodes_[node].block_size;
  }
  /// Where the node's own part of the chain begins.
  [[nodiscard]] std::size_t first_block(NodeIndex node) const { return nodes_[node].first_block; }

  void touch(NodeIndex node);
  void set_max_bytes(std::size_t max_bytes);

  struct Stats {
    std::size_t prompts = 0;
    std::size_t marks = 0;
    std::size_t blocks = 0;
    std::size_t bytes = 0;
    std::uint64_t evicted = 0;  // prompts
  };
  [[nodiscard]] const Stats& stats() const { return stats_; }

 private:
  struct Mark {
    std::uint64_t digest = 0;
    std::uint32_t offset = 0;
    std::uint32_t tokens = 0;  // kUnknown, kAllBlocks, or how many the text up to here has
  };
  static constexpr std::uint32_t kUnknown = 0;
  static constexpr std::uint32_t kAllBlocks = 0xffffffffU;

  struct Node {
    std::vector<Mark> marks;
    std::vector<ChainKey> chain;  // from first_block on
    std::uint32_t first_block = 0;
    std::uint32_t block_size = 1;
    NodeIndex parent = kRoot;
    std::uint32_t parent_mark = 0;
    std::uint32_t end_mark = 0;
    std::uint32_t reply_from = 0;  // marks.size(): there is none
    PromptKind kind = PromptKind::kText;
    std::uint64_t tag = 0;
    std::uint32_t children = 0;
    std::uint32_t generation = 0;
    bool is_used = false;
    bool confirmed = false;   // an engine has said how many tokens its prompt has
    NodeIndex older = kRoot;  // in the order of use, leaves only; kRoot ends it
    NodeIndex newer = kRoot;
  };
  struct Spot {
    NodeIndex node = kRoot;
    std::uint32_t mark = 0;
  };
  struct Point {
    double offset = 0;
    double tokens = 0;
  };

  /// A node as it was saved, its marks and keys as bytes.
  struct Restored {
    NodeIndex parent = kRoot;
    std::uint32_t parent_mark = 0;
    std::uint32_t first_block = 0;
    std::uint32_t block_size = 0;
    std::uint32_t end_mark = 0;
    std::uint32_t reply_from = 0;
    PromptKind kind = PromptKind::kText;
    std::uint64_t tag = 0;
    std::size_t marks = 0;
    std::size_t keys = 0;
  };
  /// kRoot when it does not fit the tree, or the tree is full.
  NodeIndex restore(const Restored& saved, std::string_view content);
  [[nodiscard]] bool fits(const Restored& saved) const;

  [[nodiscard]] Point left_of(const Node& node, std::uint32_t mark) const;
  /// Where the node's own marks begin, with the tokens that its own chain has before it.
  [[nodiscard]] Point base_of(const Node& node) const;
  [[nodiscard]] std::uint32_t between(const Node& node, std::uint32_t mark) const;
  [[nodiscard]] NodeIndex take_node();
  void append_marks(NodeIndex node, std::span<const PromptMark> marks);
  void link_newest(NodeIndex node);
  void link_oldest(NodeIndex node);
  void unlink(NodeIndex node);
  void remove(NodeIndex node);
  void enforce_bound(NodeIndex spared);

  std::size_t max_bytes_;
  std::vector<Node> nodes_;  // nodes_[kRoot] ends the list of leaves
  std::vector<NodeIndex> free_;
  absl::flat_hash_map<std::uint64_t, Spot> by_digest_;
  Stats stats_;

  friend class ChainTreeFile;
};

}  // namespace rolter::kvcache
