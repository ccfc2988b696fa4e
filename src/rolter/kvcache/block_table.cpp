#include "rolter/kvcache/block_table.h"

#include <algorithm>
#include <utility>

namespace rolter::kvcache {

std::size_t BlockTable::bytes() const {
  return index_.bytes() + chunks_.size() * (kChunkNodes * (kHeaderWords + words_) * 8 + 8);
}

void BlockTable::widen(std::size_t words) {
  const std::size_t old_stride = kHeaderWords + words_;
  const std::size_t new_stride = kHeaderWords + words;
  for (auto& chunk : chunks_) {
    auto wider = std::make_unique<std::uint64_t[]>(kChunkNodes * new_stride);
    for (std::size_t i = 0; i < kChunkNodes; ++i) {
      std::copy_n(chunk.get() + i * old_stride, old_stride, wider.get() + i * new_stride);
    }
    chunk = std::move(wider);
  }
  words_ = words;
}

NodeId BlockTable::find(ChainKey key) const {
  const std::size_t position = index_.find(tag_of(key), [&](const IndexSlot& slot) {
    return at(slot.node)[kKeyWord] == std::to_underlying(key);
  });
  return position == Index::kNone ? kNoNode : index_[position].node;
}

NodeId BlockTable::prefetch_node(ChainKey key) const {
  const std::size_t position = index_.find(tag_of(key), [](const IndexSlot&) { return true; });
  if (position == Index::kNone) {
    return kNoNode;
  }
  const NodeId node = index_[position].node;
  __builtin_prefetch(at(node));
  __builtin_prefetch(at(node) + kHeaderWords + words_ - 1);
  return node;
}

NodeId BlockTable::find_or_add(ChainKey key, ChainKey parent, std::uint32_t depth) {
  if (const NodeId known = find(key); known != kNoNode) {
    return known;
  }
  const NodeId node = take_node();
  std::uint64_t* words = at(node);
  std::fill_n(words, kHeaderWords + words_, 0);
  words[kKeyWord] = std::to_underlying(key);
  words[kParentWord] = std::to_underlying(parent);
  words[kDepthWord] = static_cast<std::uint64_t>(depth) << 32;
  index_.insert({.tag = tag_of(key), .node = node});
  return node;
}

bool BlockTable::add_holder(NodeId node, HolderBit holder) {
  std::uint64_t* words = at(node);
  std::uint64_t& word = words[kHeaderWords + holder / 64];
  const std::uint64_t bit = std::uint64_t{1} << (holder % 64);
  if ((word & bit) != 0) {
    return false;
  }
  word |= bit;
  ++words[kDepthWord];
  return true;
}

void BlockTable::remove_holder(NodeId node, HolderBit holder) {
  std::uint64_t* words = at(node);
  words[kHeaderWords + holder / 64] &= ~(std::uint64_t{1} << (holder % 64));
  if (static_cast<std::uint32_t>(--words[kDepthWord]) > 0) {
    return;
  }
  const auto key = ChainKey{words[kKeyWord]};
  index_.erase(index_.find(tag_of(key), [&](const IndexSlot& slot) { return slot.node == node; }));
  words[kKeyWord] = std::to_underlying(first_free_);
  first_free_ = node;
}

NodeId BlockTable::take_node() {
  if (first_free_ != kNoNode) {
    const NodeId node = first_free_;
    first_free_ = NodeId{static_cast<std::uint32_t>(at(node)[kKeyWord])};
    return node;
  }
  if (nodes_cut_ % kChunkNodes == 0) {
    chunks_.push_back(std::make_unique<std::uint64_t[]>(kChunkNodes * (kHeaderWords + words_)));
  }
  return NodeId{nodes_cut_++};
}

}  // namespace rolter::kvcache
