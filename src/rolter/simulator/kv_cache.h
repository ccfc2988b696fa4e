#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rolter/simulator/block_hash.h"
#include "rolter/simulator/block_pool.h"
#include "rolter/simulator/sequence.h"

namespace rolter::simulator {

/// Gives sequences their blocks, from the prefix cache where it can (vLLM 0.32's KVCacheManager
/// with one full-attention group). Single thread.
class KvCache {
 public:
  KvCache(std::uint32_t blocks, std::uint32_t block_size, BlockHash root = kDefaultRootHash);

  /// The leading blocks of a sequence without blocks that are cached now. Never the whole of it:
  /// the last token must be computed for its logits, so a block-aligned repeat misses its last
  /// block.
  [[nodiscard]] std::vector<BlockId> find_hit(Sequence& sequence) const;

  /// Makes room for the `new_tokens` after sequence.computed + hit tokens, takes the hit blocks
  /// over and makes blocks that become full findable (announced in one BlockStored). False when
  /// there is not room enough: nothing has changed.
  [[nodiscard]] bool allocate(Sequence& sequence, const std::vector<BlockId>& hit,
                              std::size_t new_tokens);

  /// Gives all blocks back; their content stays findable until the memory is needed.
  void release(Sequence& sequence);

  [[nodiscard]] bool reset() { return pool_.reset(); }
  [[nodiscard]] std::vector<KvEvent> take_events() { return pool_.take_events(); }
  [[nodiscard]] std::uint32_t block_size() const { return block_size_; }
  [[nodiscard]] std::size_t capacity_tokens() const { return pool_.usable_blocks() * block_size_; }

  /// Share of blocks in use, 0..1; cached but unused ones do not count (vllm:kv_cache_usage_perc).
  [[nodiscard]] double usage() const;

 private:
  void hash_full_blocks(Sequence& sequence, std::size_t tokens) const;
  void make_findable(Sequence& sequence, std::size_t tokens);
  void announce(const Sequence& sequence, std::size_t first, std::size_t last);
  [[nodiscard]] ExtraKeys extra_keys(const Sequence& sequence, std::size_t block) const;

  BlockPool pool_;
  std::uint32_t block_size_;
  BlockHash root_;
};

}  // namespace rolter::simulator
