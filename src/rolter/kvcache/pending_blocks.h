#pragma once

#include <absl/container/flat_hash_map.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <vector>

#include "rolter/base/time.h"
#include "rolter/kvcache/chain_key.h"
#include "rolter/kvcache/stream_blocks.h"

namespace rolter::kvcache {

/// What is about to become resident: the blocks of prompts that have been sent to an engine whose
/// events have not told of them yet. Without it a burst of requests with one prefix would scatter
/// over the fleet, since events come after the step that computed the blocks, at times after the
/// answer.
///
/// A chain counts from add() until kAfterAnswer past the end of its answer, or until its stream
/// shows that what it holds has changed (evicted()), whichever comes first.
///
/// Chains share their common beginnings, as a tree of runs of keys, so that a lookup costs a few
/// steps per run and a write per holder of it, however many prompts are under way. Memory: 8 bytes
/// per distinct block and about 100 per chain, within Limits; a chain over them is not taken, and
/// counted.
///
/// Any thread may call anything; calls hold the lock for a microsecond or less per chain. Time is
/// monotonic, but threads may be some milliseconds apart.
class PendingBlocks {
 public:
  static constexpr Duration kAfterAnswer = std::chrono::seconds(1);

  struct Limits {
    std::size_t max_blocks = 1'000'000;
    std::size_t max_chains = 65'536;
  };

  /// Names one chain; kNone names none. One whose chain is gone is harmless.
  enum class Ticket : std::uint64_t { kNone = 0 };

  PendingBlocks() : PendingBlocks(Limits{}) {}
  explicit PendingBlocks(Limits limits) : limits_(limits) {}

  /// The prompt with these keys goes to the stream's engine. kNone for an empty chain and over the
  /// limits.
  [[nodiscard]] Ticket add(StreamId stream, std::span<const ChainKey> chain, TimePoint now);

  /// Its answer has ended.
  void answered(Ticket ticket, TimePoint now);

  /// It never reached the engine.
  void undo(Ticket ticket);

  /// The engine evicted something, restarted, or may have done so unseen.
  void evicted(StreamId stream);

  /// Sets for each stream the number of leading blocks of `chain` that are pending there; the spans
  /// have equal sizes. One atomic load when nothing is pending anywhere: then `blocks` is left as
  /// it is, and the answer is false.
  [[nodiscard]] bool lookup(std::span<const ChainKey> chain, std::span<const StreamId> streams,
                            TimePoint now, std::span<std::uint32_t> blocks);

  /// Chains of that stream.
  [[nodiscard]] std::size_t chains_at(StreamId stream) const;

  struct Stats {
    std::size_t chains = 0;
    std::size_t blocks = 0;     // distinct
    std::uint64_t refused = 0;  // chains over the limits
  };
  [[nodiscard]] Stats stats() const;

 private:
  using NodeIndex = std::uint32_t;
  static constexpr NodeIndex kNone = 0xffffffffU;

  /// How many chains go through a node on behalf of one stream.
  struct Holder {
    StreamId stream{};
    std::uint32_t chains = 0;
  };

  /// A run of keys that every chain through it has in common.
  struct Node {
    std::vector<ChainKey> keys;
    NodeIndex parent = kNone;
    std::vector<Holder> holders;
  };

  struct Chain {
    std::uint32_t generation = 0;
    StreamId stream{};
    NodeIndex last = kNone;  // the node it ends with; kNone = a free place
  };

  struct Ending {
    Ticket ticket{};
    TimePoint at;
  };

  [[nodiscard]] NodeIndex note_depths(std::span<const ChainKey> chain);
  [[nodiscard]] NodeIndex child(NodeIndex parent, ChainKey first) const;
  [[nodiscard]] NodeIndex insert(StreamId stream, std::span<const ChainKey> chain);
  [[nodiscard]] NodeIndex append(NodeIndex parent, std::span<const ChainKey> keys);
  [[nodiscard]] NodeIndex split(NodeIndex node, std::size_t length);
  void hold(Node& node, StreamId stream);
  void release(NodeIndex node, StreamId stream);
  [[nodiscard]] Chain* find(Ticket ticket);
  void end(Chain& chain);
  void expire(TimePoint now);

  Limits limits_;
  std::atomic<std::size_t> live_{0};  // chains; written under the lock
  mutable std::mutex mutex_;
  std::vector<Node> nodes_;
  std::vector<NodeIndex> free_nodes_;
  absl::flat_hash_map<ChainKey, NodeIndex> by_first_key_;
  std::vector<Chain> chains_;
  std::vector<std::uint32_t> free_chains_;
  std::vector<std::uint32_t> chains_of_;  // by stream
  std::deque<Ending> endings_;            // of answered chains, by time
  std::size_t blocks_ = 0;
  std::uint64_t refused_ = 0;
  std::vector<std::uint32_t> depth_of_;  // by stream; scratch of lookup(), zero in between
};

}  // namespace rolter::kvcache
