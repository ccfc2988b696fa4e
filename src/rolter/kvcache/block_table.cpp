#include "rolter/kvcache/block_table.h"

#include <algorithm>
#include <utility>

#include "rolter/base/huge_pages.h"

namespace rolter::kvcache {

namespace {

// Memory that is not touched before its nodes are used.
std::unique_ptr<std::uint64_t[]> make_chunk(std::size_t words) {
  auto chunk = std::make_unique_for_overwrite<std::uint64_t[]>(words);
  prefer_huge_pages(chunk.get(), words * sizeof(std::uint64_t));
  return chunk;
}

}  // namespace

std::size_t BlockTable::bytes() const {
  return index_.bytes() + chunks_.size() * (kChunkNodes * (kHeaderWords + words_) * 8 + 8);
}

void BlockTable::widen(std::size_t words) {
  const std::size_t old_stride = kHeaderWords + words_;
  const std::size_t new_stride = kHeaderWords + words;
  for (std::size_t first = 0; auto& chunk : chunks_) {
    auto wider = make_chunk(kChunkNodes * new_stride);
    const std::size_t used = std::min(kChunkNodes, nodes_cut_ - first);
    for (std::size_t i = 0; i < used; ++i) {
      std::copy_n(chunk.get() + i * old_stride, old_stride, wider.get() + i * new_stride);
      std::fill_n(wider.get() + i * new_stride + old_stride, new_stride - old_stride, 0);
    }
    chunk = std::move(wider);
    first += kChunkNodes;
  }
  words_ = words;
}

BlockId BlockTable::find(ChainKey key) const {
  const std::size_t position = index_.find(tag_of(key), [&](const IndexSlot& slot) {
    return at(slot.node)[kKeyWord] == std::to_underlying(key);
  });
  return position == Index::kNone ? kNoBlock : index_[position].node;
}

BlockId BlockTable::find_or_add(ChainKey key, ChainKey parent, std::uint32_t depth) {
  const std::size_t position = index_.probe(tag_of(key), [&](const IndexSlot& slot) {
    return at(slot.node)[kKeyWord] == std::to_underlying(key);
  });
  if (!index_[position].vacant()) {
    return index_[position].node;
  }
  const BlockId node = take_node();
  std::uint64_t* words = at(node);
  std::fill_n(words, kHeaderWords + words_, 0);
  words[kKeyWord] = std::to_underlying(key);
  words[kParentWord] = std::to_underlying(parent);
  words[kDepthWord] = static_cast<std::uint64_t>(depth) << 32;
  index_.insert_at(position, {.tag = tag_of(key), .node = node});
  return node;
}

bool BlockTable::add_holder(BlockId node, HolderBit holder) {
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

void BlockTable::remove_holder(BlockId node, HolderBit holder) {
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

BlockId BlockTable::take_node() {
  if (first_free_ != kNoBlock) {
    const BlockId node = first_free_;
    first_free_ = BlockId{static_cast<std::uint32_t>(at(node)[kKeyWord])};
    return node;
  }
  if (nodes_cut_ % kChunkNodes == 0) {
    chunks_.push_back(make_chunk(kChunkNodes * (kHeaderWords + words_)));
  }
  return BlockId{nodes_cut_++};
}

}  // namespace rolter::kvcache
