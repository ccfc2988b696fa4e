#pragma once

#include <absl/container/flat_hash_map.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "rolter/base/ids.h"
#include "rolter/kvcache/block_table.h"
#include "rolter/kvcache/flat_table.h"
#include "rolter/kvcache/group_filter.h"
#include "rolter/kvcache/kv_event.h"
#include "rolter/kvcache/parked_blocks.h"
#include "rolter/kvcache/table_writer.h"

namespace rolter::kvcache {

/// One stream of events: one replica and data-parallel rank. Also its holder bit.
enum class StreamId : std::uint32_t {};

struct StreamOptions {
  ReplicaSlot replica{};
  std::uint32_t rank = 0;
  std::size_t max_blocks = 1'000'000;
  std::uint32_t block_size = 0;  // tokens; 0 = learned from the events
};

/// What has happened to one stream's blocks since it was added.
struct BlockCounters {
  std::uint64_t stored = 0;   // copies announced and counted
  std::uint64_t removed = 0;  // copies
  std::uint64_t cleared = 0;  // AllBlocksCleared, restarts and holes
  std::uint64_t evicted = 0;  // by us, over max_blocks
  std::uint64_t parked = 0;   // copies whose parent was unknown
  std::uint64_t parked_dropped = 0;
  std::uint64_t unknown_removals = 0;    // of blocks we never knew, or had evicted
  std::uint64_t ignored_events = 0;      // other medium or group, odd block size
  std::uint64_t conflicting_events = 0;  // a hash that repeats, names itself or changes its content
};

/// A piece of a chain that became resident, parent first.
struct StoredChain {
  StreamId stream{};
  std::span<const ChainKey> keys;
  ChainKey parent{};        // kRootKey when the chain starts here
  std::uint32_t depth = 0;  // blocks before keys[0]
  std::string_view session_id;
  ReplicaSlot replica{};
  std::uint32_t block_size = 0;       // tokens
  bool hybrid = false;                // the stream's engine reuses a prefix only where one ended
  const BlockTable* table = nullptr;  // holds them and those before them; during the call
};

/// Told of changes as they are applied, on the writer's thread, in order, outside the readers'
/// lock.
class BlockListener {
 public:
  virtual ~BlockListener() = default;
  virtual void on_stored(const StoredChain& chain) = 0;
  virtual void on_removed(StreamId stream, ChainKey key) = 0;
  virtual void on_cleared(StreamId stream) = 0;
};

/// One block as one stream knows it: 16 bytes, 21 to 27 with the empty slots around it.
struct EngineBlock {
  EngineHash hash{};
  BlockId node = kNoBlock;
  std::uint32_t copies : 8 = 0;  // physical copies announced and not removed, at most kMaxCopies
  std::uint32_t age : 24 = 0;    // when last stored, in ticks of the stream's own store clock

  static constexpr std::uint32_t kMaxCopies = 255;
  static constexpr std::uint32_t kMaxAge = (1U << 24) - 1;

  [[nodiscard]] bool vacant() const { return node == kNoBlock; }
  [[nodiscard]] std::uint32_t spread() const { return spread_of(hash); }
  [[nodiscard]] static std::uint32_t spread_of(EngineHash hash) {
    auto value = static_cast<std::uint64_t>(hash);
    value = (value ^ (value >> 32)) * 0x9e3779b97f4a7c15ULL;
    return static_cast<std::uint32_t>(value >> 32);
  }
};
static_assert(sizeof(EngineBlock) == 16);

/// The blocks of one stream: from the engine's hashes to our chain keys, with the number of copies.
///
/// vLLM announces every physical copy of a block when it is stored and when it is evicted, so a
/// block is resident while more copies were stored than removed. The count is an upper bound:
/// requests with kv_cache_report_mode "full" announce blocks again without a new copy (vLLM issue
/// 51699).
///
/// A hash whose parent is unknown is parked, never taken for the start of a chain.
///
/// Changes: the writer's thread only. block_size() and hybrid(): any thread.
class StreamBlocks {
 public:
  StreamBlocks(StreamId id, const StreamOptions& options, BlockListener* listener);

  void stored(const BlockStored& event, TableWriter& writer);
  void removed(const BlockRemoved& event, TableWriter& writer);
  /// The engine emptied its cache.
  void clear(TableWriter& writer);
  /// The engine is another process now: also forgets what was learned of its block size and groups.
  void restart(TableWriter& writer);

  [[nodiscard]] const StreamOptions& options() const { return options_; }
  [[nodiscard]] std::size_t size() const { return blocks_.size(); }
  [[nodiscard]] std::size_t parked() const { return parked_.size(); }
  [[nodiscard]] std::size_t bytes() const { return blocks_.bytes(); }
  [[nodiscard]] const BlockCounters& counters() const { return counters_; }
  /// Copies the engine is known to hold of a block; 0 = not resident.
  [[nodiscard]] std::uint32_t copies(EngineHash hash) const;

  /// Tokens per block; 0 = not known yet.
  [[nodiscard]] std::uint32_t block_size() const {
    return block_size_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool hybrid() const { return hybrid_.load(std::memory_order_relaxed); }
  /// Whether events named this LoRA adapter. Readers' lock.
  [[nodiscard]] bool knows_adapter(std::string_view name) const;

 private:
  /// Where in a chain a piece continues.
  struct Base {
    ChainKey key = kRootKey;
    std::uint32_t depth = 0;
  };

  [[nodiscard]] bool accept_shape(const BlockStored& event, TableWriter& writer);
  void learn_adapter(std::string_view name, TableWriter& writer);
  [[nodiscard]] std::size_t position_of(EngineHash hash) const;
  [[nodiscard]] Base base_after(std::size_t position, const BlockTable& table) const;
  void place(const BlockStored& event, TableWriter& writer);
  [[nodiscard]] bool attach(const BlockStored& event, std::size_t first, Base base,
                            TableWriter& writer);
  void park(const BlockStored& event, std::size_t first, std::size_t last);
  [[nodiscard]] bool add_copies(EngineHash hash, std::uint32_t copies, ChainKey key, Base base,
                                TableWriter& writer);
  void remove_copy(std::size_t position, TableWriter& writer);
  void erase(std::size_t position, TableWriter& writer);
  void adopt_children(EngineHash parent, TableWriter& writer);
  void enforce_bound(TableWriter& writer);
  [[nodiscard]] std::uint32_t age_now();
  void forget_blocks(TableWriter& writer);

  StreamId id_;
  StreamOptions options_;
  BlockListener* listener_;  // may be null
  FlatTable<EngineBlock, FlatTableShape{.group = 64 / sizeof(EngineBlock)}> blocks_;
  // Further hashes of this stream with a key that one has already: engines before vLLM 0.16 do not
  // publish salts, so chains that differ only there look equal. Usually empty.
  absl::flat_hash_map<BlockId, std::uint32_t> aliases_;
  ParkedBlocks parked_;
  GroupFilter groups_;
  std::atomic<std::uint32_t> block_size_;
  std::atomic<bool> hybrid_{false};
  std::vector<std::uint64_t> adapters_;  // hashes of the names seen
  std::vector<ChainKey> keys_;           // scratch
  std::uint64_t store_clock_ = 0;
  std::uint64_t age_granularity_;
  BlockCounters counters_;
};

}  // namespace rolter::kvcache
