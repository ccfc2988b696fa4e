#include "rolter/simulator/replay/prefix_cache.h"

#include <algorithm>

namespace rolter::simulator::replay {

PrefixCache::PrefixCache(std::size_t capacity, std::size_t known_blocks)
    : capacity_(capacity),
      ring_(static_cast<BlockId>(known_blocks)),
      older_(known_blocks + 1, kAbsent),
      younger_(known_blocks + 1, kAbsent) {
  older_[ring_] = ring_;
  younger_[ring_] = ring_;
}

std::size_t PrefixCache::leading(std::span<const BlockId> chain) const {
  const auto missing = std::ranges::find_if(chain, [this](BlockId block) { return !holds(block); });
  return static_cast<std::size_t>(missing - chain.begin());
}

void PrefixCache::use(std::span<const BlockId> chain, CacheChange& change) {
  const auto already = static_cast<std::ptrdiff_t>(change.stored.size());
  for (std::size_t i = chain.size(); i > 0; --i) {
    const BlockId block = chain[i - 1];
    if (holds(block)) {
      unlink(block);
    } else {
      change.stored.push_back(block);
    }
    link_youngest(block);
  }
  std::reverse(change.stored.begin() + already, change.stored.end());
  while (size_ > capacity_) {
    const BlockId oldest = younger_[ring_];
    unlink(oldest);
    change.removed.push_back(oldest);
  }
}

void PrefixCache::link_youngest(BlockId block) {
  older_[block] = older_[ring_];
  younger_[block] = ring_;
  younger_[older_[ring_]] = block;
  older_[ring_] = block;
  ++size_;
}

void PrefixCache::unlink(BlockId block) {
  younger_[older_[block]] = younger_[block];
  older_[younger_[block]] = older_[block];
  older_[block] = kAbsent;
  --size_;
}

}  // namespace rolter::simulator::replay
