#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <string_view>
#include <vector>

#include "rolter/base/error.h"
#include "rolter/base/ids.h"
#include "rolter/kvcache/block_table.h"
#include "rolter/kvcache/chain_key.h"
#include "rolter/kvcache/kv_event.h"
#include "rolter/kvcache/stream_blocks.h"
#include "rolter/kvcache/table_writer.h"

namespace rolter::kvcache {

struct BlockIndexStats {
  std::size_t blocks = 0;  // distinct blocks
  std::size_t pairs = 0;   // (block, stream)
  std::size_t bytes = 0;   // tables only; parked blocks apart
};

/// The exact index: which replica holds which blocks, as the engines' own events tell it.
///
/// One index serves all providers with event streams. A lookup walks the request's chain of keys
/// and is exact: each stream's answer is its number of leading resident blocks, up to the first
/// missing one (vLLM evicts a chain from its tail, but holes occur).
///
/// Memory: 21 to 27 bytes per (block, stream), and per distinct block 40 to 44 and 8 for each 64
/// streams. Each stream keeps at most its max_blocks.
///
/// Threads: any thread may call anything. Changes are serialised; they hold up lookups for some
/// microseconds at most (TableWriter), and lookups never hold up each other. A batch of events
/// belongs to one thread from begin() to its end.
class BlockIndex {
 public:
  static constexpr std::size_t kMaxStreams = 4096;

  /// `listener`, when given, must outlive the index. It must not call back into the index.
  explicit BlockIndex(BlockListener* listener = nullptr) : listener_(listener) {}

  /// A stream starts empty and not usable. kLimitExceeded when there are kMaxStreams.
  [[nodiscard]] Result<StreamId> add_stream(const StreamOptions& options);
  /// Forgets the stream and all it holds.
  void remove_stream(StreamId stream);

  /// Applies the events of one batch, in order. Other changes wait until it is destroyed.
  class Batch final : public KvEventSink {
   public:
    Batch(BlockIndex& index, StreamId stream);
    void stored(const BlockStored& event) override { blocks_.stored(event, writer_); }
    void removed(const BlockRemoved& event) override { blocks_.removed(event, writer_); }
    void cleared() override { blocks_.clear(writer_); }

   private:
    std::unique_lock<std::mutex> changes_;
    TableWriter writer_;
    StreamBlocks& blocks_;
  };
  [[nodiscard]] Batch begin(StreamId stream) { return Batch(*this, stream); }

  /// The stream's engine restarted, or a hole in its history makes all it holds doubtful.
  enum class Forget : std::uint8_t { kBlocks, kBlocksAndEngine };
  void forget(StreamId stream, Forget what);

  /// A stream that is not usable (stale, gapped) keeps its blocks but gets no credit.
  void set_usable(StreamId stream, bool usable);

  /// One stream of a replica, as a router needs it.
  struct StreamView {
    std::size_t position = 0;  // in the queried replicas
    StreamId stream{};
    std::uint32_t rank = 0;
    std::uint32_t block_size = 0;  // 0 = not known yet
    bool usable = false;
    bool hybrid = false;         // residency of a prefix counts only where a request ended
    bool knows_adapter = false;  // the queried name is a LoRA adapter's
  };
  struct ReplicaQuery {
    ReplicaSlot replica{};
    std::string_view model;  // that the request would name there
  };
  /// Replaces `views` by the streams of these replicas, in order of replica and rank.
  void streams_of(std::span<const ReplicaQuery> replicas, std::vector<StreamView>& views) const;

  /// For each stream the number of leading blocks of `chain` that it holds; 0 for one that is not
  /// usable. blocks.size() == streams.size(); no stream twice. Allocates nothing; some nanoseconds
  /// per block as long as any stream holds the chain.
  void lookup(std::span<const ChainKey> chain, std::span<const StreamId> streams,
              std::span<std::uint32_t> blocks) const;

  struct StreamStats {
    std::size_t blocks = 0;
    std::size_t parked = 0;
    BlockCounters counters;
  };
  [[nodiscard]] StreamStats stats(StreamId stream) const;
  [[nodiscard]] BlockIndexStats stats() const;
  /// Copies of a block that the stream's engine is known to hold.
  [[nodiscard]] std::uint32_t copies(StreamId stream, EngineHash hash) const;

 private:
  struct Stream {
    Stream(StreamId id, const StreamOptions& options, BlockListener* listener)
        : blocks(id, options, listener) {}
    StreamBlocks blocks;
    std::atomic<bool> usable{false};
  };

  [[nodiscard]] Stream& stream_at(StreamId stream) const {
    return *streams_[static_cast<std::size_t>(stream)];
  }

  BlockListener* listener_;
  mutable std::mutex changes_;             // one change at a time; taken before table_mutex_
  mutable std::shared_mutex table_mutex_;  // table_, streams_ and by_replica_ as readers see them
  BlockTable table_;
  std::vector<std::unique_ptr<Stream>> streams_;   // by StreamId; null = free
  std::vector<std::vector<StreamId>> by_replica_;  // by ReplicaSlot, ordered by rank
};

}  // namespace rolter::kvcache
