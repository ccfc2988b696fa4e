#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rolter::simulator::replay {

/// A block of a trace: equal ids mean equal text and an equal prefix before it. Ids of a workload
/// are dense, from 0 on.
using BlockId = std::uint32_t;

/// What one prompt did to a cache: blocks that it added, in the order of its chain, and blocks that
/// went for them.
struct CacheChange {
  std::vector<BlockId> stored;
  std::vector<BlockId> removed;

  void clear() {
    stored.clear();
    removed.clear();
  }
};

/// An engine's prefix cache: the blocks used last. Of blocks used together the tail of the chain
/// goes first, so that a resident block's prefix is resident too. 8 bytes per known block, no
/// allocation but for what it reports.
class PrefixCache {
 public:
  /// `capacity` in blocks; `known_blocks`: every id is less.
  PrefixCache(std::size_t capacity, std::size_t known_blocks);

  [[nodiscard]] bool holds(BlockId block) const { return older_[block] != kAbsent; }
  [[nodiscard]] std::size_t size() const { return size_; }

  /// Leading blocks of the chain that are resident.
  [[nodiscard]] std::size_t leading(std::span<const BlockId> chain) const;

  /// All of the chain is used now and becomes resident, as far as there is room. Adds to `change`.
  void use(std::span<const BlockId> chain, CacheChange& change);

 private:
  static constexpr BlockId kAbsent = 0xffff'ffff;

  void link_youngest(BlockId block);
  void unlink(BlockId block);

  std::size_t capacity_;
  std::size_t size_ = 0;
  BlockId ring_;  // the place between the youngest and the oldest
  std::vector<BlockId> older_;
  std::vector<BlockId> younger_;
};

}  // namespace rolter::simulator::replay
