#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/container/inlined_vector.h>

#include "rolter/simulator/kv_event.h"

namespace rolter::simulator {

/// A physical block of KV memory. 0 is vLLM's null block and is never handed out.
enum class BlockId : std::uint32_t {};

/// A fixed number of KV-cache blocks with the prefix cache that lives in the free ones, as in
/// vLLM's BlockPool (0.32): a block that nobody uses keeps its content until its memory is taken,
/// and is found by hash until then. Free blocks queue from least to most recently used; blocks
/// without a hash go to the front. Equal hashes are not merged: a recomputed block is a second
/// copy.
///
/// Every change of what can be found is an event, kept in order until take_events(). Single thread.
class BlockPool {
 public:
  /// `blocks` as vLLM counts num_gpu_blocks: one of them is the null block. Must be >= 2.
  explicit BlockPool(std::uint32_t blocks);

  [[nodiscard]] std::size_t usable_blocks() const { return blocks_.size() - 2; }
  [[nodiscard]] std::size_t free_blocks() const { return free_count_; }

  /// The oldest copy that holds this content, in use or free.
  [[nodiscard]] std::optional<BlockId> find(BlockHash hash) const;
  [[nodiscard]] bool is_free(BlockId block) const { return at(block).users == 0; }
  [[nodiscard]] std::optional<BlockHash> hash_of(BlockId block) const { return at(block).hash; }

  /// One more user for each: a free block leaves the queue and keeps its content.
  void touch(std::span<const BlockId> blocks);

  /// Takes `count` blocks from the front of the queue; each one's content is lost, with one
  /// BlockRemoved per block that had a hash. count must be <= free_blocks().
  [[nodiscard]] std::vector<BlockId> take(std::size_t count);

  /// Makes a block in use findable. It must not have a hash yet.
  void set_hash(BlockId block, BlockHash hash);

  /// One user less for each, in this order (callers pass a chain's tail first, so that it is
  /// evicted before its head).
  void release(std::span<const BlockId> tail_first);

  /// Forgets all content, unless a block is in use (false, nothing changes). AllBlocksCleared waits
  /// with the other events, hence reaches nobody before the next step that has any.
  [[nodiscard]] bool reset();

  void announce(BlockStored event) { events_.emplace_back(std::move(event)); }
  [[nodiscard]] std::vector<KvEvent> take_events();

 private:
  struct Block {
    std::optional<BlockHash> hash;
    std::uint32_t users = 0;
    std::uint32_t previous = 0;
    std::uint32_t next = 0;
  };

  [[nodiscard]] const Block& at(BlockId id) const { return blocks_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] Block& at(BlockId id) { return blocks_[static_cast<std::size_t>(id)]; }
  void link_between(std::uint32_t previous, std::uint32_t block, std::uint32_t next);
  void unlink(std::uint32_t block);
  void forget(std::uint32_t block);

  // Indexed by BlockId; one more at the end is the queue's sentinel (its next = the front).
  std::vector<Block> blocks_;
  std::uint32_t sentinel_;
  std::size_t free_count_ = 0;
  absl::flat_hash_map<BlockHash, absl::InlinedVector<BlockId, 1>> copies_;  // oldest first
  std::vector<KvEvent> events_;
};

}  // namespace rolter::simulator
