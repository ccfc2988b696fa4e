#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "rolter/kvcache/chain_key.h"
#include "rolter/kvcache/flat_table.h"

namespace rolter::kvcache {

/// A block's place in a BlockTable, good for as long as any stream holds the block.
enum class BlockId : std::uint32_t {};
inline constexpr BlockId kNoBlock{0xffffffffU};

/// A stream's bit in every block's set of holders: one per (replica, data-parallel rank).
using HolderBit = std::uint32_t;

/// The upper half of a chain key, and the node that has the whole of it.
struct IndexSlot {
  std::uint32_t tag = 0;
  BlockId node = kNoBlock;

  [[nodiscard]] bool vacant() const { return node == kNoBlock; }
  [[nodiscard]] std::uint32_t spread() const { return tag; }
};

/// Which streams hold which blocks: chain key -> a bitmap with one bit per stream, so that a step
/// of a lookup is one AND whatever the number of holders.
///
/// Cost per block, shared by all its holders: 24 + 8 * words() bytes for the node, and 16 to 20 for
/// the slot that finds it.
///
/// Not thread-safe: BlockIndex owns the locking. Readers may go on during index_grown_for().
class BlockTable {
 public:
  // At most half full: a lookup is bound by mispredicted probes, and a slot is shared by all
  // holders.
  using Index = FlatTable<IndexSlot, FlatTableShape{.max_fill = 50}>;

  /// Room for words * 64 holders; see widen().
  explicit BlockTable(std::size_t words = 1) : words_(words) {}

  [[nodiscard]] std::size_t words() const { return words_; }
  [[nodiscard]] std::size_t size() const { return index_.size(); }
  [[nodiscard]] std::size_t bytes() const;

  /// Rebuilds every node for words * 64 holders, more than before. O(blocks).
  void widen(std::size_t words);

  [[nodiscard]] BlockId find(ChainKey key) const;

  [[nodiscard]] ChainKey key(BlockId node) const { return ChainKey{at(node)[kKeyWord]}; }
  [[nodiscard]] ChainKey parent(BlockId node) const { return ChainKey{at(node)[kParentWord]}; }
  /// Number of blocks before this one in its chain.
  [[nodiscard]] std::uint32_t depth(BlockId node) const {
    return static_cast<std::uint32_t>(at(node)[kDepthWord] >> 32);
  }
  [[nodiscard]] const std::uint64_t* holders(BlockId node) const { return at(node) + kHeaderWords; }
  [[nodiscard]] bool holds(BlockId node, HolderBit holder) const {
    return ((holders(node)[holder / 64] >> (holder % 64)) & 1) != 0;
  }

  /// Growth in two steps: the larger index is built while readers go on, then put in place.
  [[nodiscard]] bool has_room_for(std::size_t more) const { return index_.has_room_for(more); }
  [[nodiscard]] Index index_grown_for(std::size_t more) const { return index_.grown_for(more); }
  void replace_index(Index index) { index_ = std::move(index); }

  /// The node of `key`, new when there is none: it must get a holder before anything else happens.
  /// The index must have room for it.
  BlockId find_or_add(ChainKey key, ChainKey parent, std::uint32_t depth);

  /// False when the holder was there already.
  bool add_holder(BlockId node, HolderBit holder);

  /// The holder must be there. Without its last holder a node is gone.
  void remove_holder(BlockId node, HolderBit holder);

  /// The block of that key, if it is the one made after `node`, as the next block of a chain that
  /// was stored as a whole is: without a search.
  [[nodiscard]] BlockId neighbour(BlockId node, ChainKey key) const {
    const std::uint32_t next = std::to_underlying(node) + 1;
    return next < nodes_cut_ && this->key(BlockId{next}) == key ? BlockId{next} : kNoBlock;
  }

  /// How many of `keys` are the keys of `first` and the blocks made after it, one after the other,
  /// as far as each has all holders of `wanted` (words() words): the usual walk, some ten
  /// instructions a block. May end early.
  [[nodiscard]] std::size_t run(BlockId first, std::span<const ChainKey> keys,
                                const std::uint64_t* wanted) const {
    const std::size_t position = std::to_underlying(first);
    const std::size_t most =
        std::min({keys.size(), kChunkNodes - position % kChunkNodes, nodes_cut_ - position});
    const std::uint64_t* node = at(first);
    for (std::size_t i = 0; i < most; ++i, node += kHeaderWords + words_) {
      if (node[kKeyWord] != static_cast<std::uint64_t>(keys[i]) ||
          !has_all(node + kHeaderWords, wanted)) {
        return i;
      }
    }
    return most;
  }

  /// For a walk along known keys, each step some keys ahead of the next: prefetch_slot(), then
  /// prefetch_node(), whose guess holders_guessed() confirms or corrects.
  using Guess = const std::uint64_t*;
  void prefetch_slot(ChainKey key) const { index_.prefetch(tag_of(key)); }
  [[nodiscard]] Guess prefetch_node(ChainKey key) const {
    const std::size_t position = index_.find(tag_of(key), [](const IndexSlot&) { return true; });
    if (position == Index::kNone) {
      return nullptr;
    }
    const Guess node = at(index_[position].node);
    __builtin_prefetch(node);
    __builtin_prefetch(node + kHeaderWords + words_ - 1);
    return node;
  }
  /// The holders of the block, null when it has none.
  [[nodiscard]] const std::uint64_t* holders_guessed(ChainKey key, Guess guess) const {
    if (guess == nullptr || guess[kKeyWord] == static_cast<std::uint64_t>(key)) [[likely]] {
      return guess == nullptr ? nullptr : guess + kHeaderWords;
    }
    const BlockId node = find(key);
    return node == kNoBlock ? nullptr : holders(node);
  }

 private:
  static constexpr std::size_t kKeyWord = 0;  // the next free node, while this one is free
  static constexpr std::size_t kParentWord = 1;
  static constexpr std::size_t kDepthWord = 2;  // depth << 32 | number of holders
  static constexpr std::size_t kHeaderWords = 3;
  static constexpr std::size_t kChunkNodes = 65'536;

  static std::uint32_t tag_of(ChainKey key) {
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(key) >> 32);
  }

  [[nodiscard]] bool has_all(const std::uint64_t* holders, const std::uint64_t* wanted) const {
    std::uint64_t missing = 0;
    for (std::size_t word = 0; word < words_; ++word) {
      missing |= wanted[word] & ~holders[word];
    }
    return missing == 0;
  }
  [[nodiscard]] std::uint64_t* at(BlockId node) const {
    const auto position = static_cast<std::size_t>(node);
    return chunks_[position / kChunkNodes].get() +
           (position % kChunkNodes) * (kHeaderWords + words_);
  }
  BlockId take_node();

  Index index_;
  std::vector<std::unique_ptr<std::uint64_t[]>> chunks_;
  std::size_t words_;
  std::uint32_t nodes_cut_ = 0;  // nodes ever cut from the chunks
  BlockId first_free_ = kNoBlock;
};

}  // namespace rolter::kvcache
