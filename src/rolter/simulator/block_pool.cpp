#include "rolter/simulator/block_pool.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace rolter::simulator {

BlockPool::BlockPool(std::uint32_t blocks)
    : blocks_(std::max(blocks, 2U) + 1), sentinel_(static_cast<std::uint32_t>(blocks_.size() - 1)) {
  blocks_[sentinel_].previous = sentinel_;
  blocks_[sentinel_].next = sentinel_;
  for (std::uint32_t block = 1; block < sentinel_; ++block) {
    link_between(blocks_[sentinel_].previous, block, sentinel_);
  }
}

std::optional<BlockId> BlockPool::find(BlockHash hash) const {
  const auto found = copies_.find(hash);
  if (found == copies_.end()) {
    return std::nullopt;
  }
  return found->second.front();
}

void BlockPool::touch(std::span<const BlockId> blocks) {
  for (const BlockId id : blocks) {
    if (at(id).users++ == 0) {
      unlink(static_cast<std::uint32_t>(id));
    }
  }
}

std::vector<BlockId> BlockPool::take(std::size_t count) {
  assert(count <= free_count_);
  std::vector<BlockId> taken;
  taken.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t front = blocks_[sentinel_].next;
    unlink(front);
    if (blocks_[front].hash) {
      events_.emplace_back(BlockRemoved{*blocks_[front].hash});
      forget(front);
    }
    blocks_[front].users = 1;
    taken.push_back(BlockId{front});
  }
  return taken;
}

void BlockPool::set_hash(BlockId block, BlockHash hash) {
  assert(at(block).users > 0 && !at(block).hash);
  at(block).hash = hash;
  copies_[hash].push_back(block);
}

void BlockPool::release(std::span<const BlockId> tail_first) {
  std::uint32_t last_without_hash = sentinel_;
  for (const BlockId id : tail_first) {
    Block& block = at(id);
    assert(block.users > 0);
    if (--block.users > 0) {
      continue;
    }
    const auto index = static_cast<std::uint32_t>(id);
    if (block.hash) {
      link_between(blocks_[sentinel_].previous, index, sentinel_);
    } else {
      link_between(last_without_hash, index, blocks_[last_without_hash].next);
      last_without_hash = index;
    }
  }
}

bool BlockPool::reset() {
  if (free_count_ != usable_blocks()) {
    return false;
  }
  for (Block& block : blocks_) {
    block.hash.reset();
  }
  copies_.clear();
  events_.emplace_back(AllBlocksCleared{});
  return true;
}

std::vector<KvEvent> BlockPool::take_events() {
  return std::exchange(events_, {});
}

void BlockPool::link_between(std::uint32_t previous, std::uint32_t block, std::uint32_t next) {
  blocks_[block].previous = previous;
  blocks_[block].next = next;
  blocks_[previous].next = block;
  blocks_[next].previous = block;
  ++free_count_;
}

void BlockPool::unlink(std::uint32_t block) {
  blocks_[blocks_[block].previous].next = blocks_[block].next;
  blocks_[blocks_[block].next].previous = blocks_[block].previous;
  --free_count_;
}

void BlockPool::forget(std::uint32_t block) {
  const auto found = copies_.find(*blocks_[block].hash);
  auto& copies = found->second;
  copies.erase(std::find(copies.begin(), copies.end(), BlockId{block}));
  if (copies.empty()) {
    copies_.erase(found);
  }
  blocks_[block].hash.reset();
}

}  // namespace rolter::simulator
