#include "rolter/kvcache/block_index.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace rolter::kvcache {

Result<StreamId> BlockIndex::add_stream(const StreamOptions& options) {
  const std::lock_guard changes(changes_);
  const auto free =
      std::ranges::find_if(streams_, [](const auto& stream) { return stream == nullptr; });
  const auto position = static_cast<std::size_t>(free - streams_.begin());
  if (position >= kMaxStreams) {
    return fail(ErrorKind::kLimitExceeded, "more than 4096 event streams (replicas times ranks)");
  }
  const StreamId id{static_cast<std::uint32_t>(position)};
  auto stream = std::make_unique<Stream>(id, options, listener_);
  const std::lock_guard table(table_mutex_);
  if (free == streams_.end()) {
    streams_.push_back(std::move(stream));
  } else {
    *free = std::move(stream);
  }
  if (position / 64 >= table_.words()) {
    table_.widen(std::bit_ceil(position / 64 + 1));
  }
  const std::size_t replica = to_index(options.replica);
  if (by_replica_.size() <= replica) {
    by_replica_.resize(replica + 1);
  }
  auto& ranks = by_replica_[replica];
  const auto later = std::ranges::find_if(
      ranks, [&](StreamId other) { return stream_at(other).blocks.options().rank > options.rank; });
  ranks.insert(later, id);
  return id;
}

void BlockIndex::remove_stream(StreamId stream) {
  const std::lock_guard changes(changes_);
  Stream& leaving = stream_at(stream);
  leaving.usable.store(false, std::memory_order_relaxed);
  {
    TableWriter writer(table_, table_mutex_);
    leaving.blocks.clear(writer);
  }
  const std::lock_guard table(table_mutex_);
  std::erase(by_replica_[to_index(leaving.blocks.options().replica)], stream);
  streams_[std::to_underlying(stream)] = nullptr;
}

BlockIndex::Batch::Batch(BlockIndex& index, StreamId stream)
    : changes_(index.changes_),
      writer_(index.table_, index.table_mutex_),
      blocks_(index.stream_at(stream).blocks) {}

void BlockIndex::forget(StreamId stream, Forget what) {
  const std::lock_guard changes(changes_);
  TableWriter writer(table_, table_mutex_);
  StreamBlocks& blocks = stream_at(stream).blocks;
  if (what == Forget::kBlocksAndEngine) {
    blocks.restart(writer);
  } else {
    blocks.clear(writer);
  }
}

void BlockIndex::set_usable(StreamId stream, bool usable) {
  const std::shared_lock table(table_mutex_);
  stream_at(stream).usable.store(usable, std::memory_order_relaxed);
}

void BlockIndex::streams_of(std::span<const ReplicaQuery> replicas,
                            std::vector<StreamView>& views) const {
  views.clear();
  const std::shared_lock table(table_mutex_);
  for (std::size_t position = 0; position < replicas.size(); ++position) {
    const std::size_t replica = to_index(replicas[position].replica);
    if (replica >= by_replica_.size()) {
      continue;
    }
    for (const StreamId id : by_replica_[replica]) {
      const Stream& stream = stream_at(id);
      const StreamBlocks& blocks = stream.blocks;
      views.push_back({.position = position,
                       .stream = id,
                       .rank = blocks.options().rank,
                       .block_size = blocks.block_size(),
                       .usable = stream.usable.load(std::memory_order_relaxed),
                       .hybrid = blocks.hybrid(),
                       .knows_adapter = blocks.knows_adapter(replicas[position].model)});
    }
  }
}

namespace {

/// The streams that a lookup still follows, as bits like those of a node.
class Candidates {
 public:
  Candidates(std::span<std::uint32_t> blocks, std::size_t words) : blocks_(blocks), words_(words) {
    std::fill_n(bits_.begin(), words, 0);
  }

  void add(HolderBit bit, std::size_t position) {
    bits_[bit / 64] |= std::uint64_t{1} << (bit % 64);
    position_[bit] = static_cast<std::uint16_t>(position);
  }

  /// Those that do not hold the block at `depth` end here. False when none is left.
  bool keep(const std::uint64_t* holders, std::uint32_t depth) {
    std::uint64_t left = 0;
    for (std::size_t word = 0; word < words_; ++word) {
      settle(word, bits_[word] & ~holders[word], depth);
      bits_[word] &= holders[word];
      left |= bits_[word];
    }
    return left != 0;
  }

  /// Those that are left.
  [[nodiscard]] const std::uint64_t* bits() const { return bits_.data(); }

  void settle_all(std::uint32_t depth) {
    for (std::size_t word = 0; word < words_; ++word) {
      settle(word, bits_[word], depth);
    }
  }

 private:
  void settle(std::size_t word, std::uint64_t ended, std::uint32_t depth) {
    for (; ended != 0; ended &= ended - 1) {
      blocks_[position_[word * 64 + static_cast<std::size_t>(std::countr_zero(ended))]] = depth;
    }
  }

  std::span<std::uint32_t> blocks_;
  std::size_t words_;
  // Only the words and positions in use are ever written or read.
  std::array<std::uint64_t, BlockIndex::kMaxStreams / 64> bits_;
  std::array<std::uint16_t, BlockIndex::kMaxStreams> position_;
};

/// Follows the part of a chain that begins at block `from`, with slots fetched 16 and nodes 8
/// blocks ahead: a step costs no cache miss. False when no candidate is left.
bool walk_scattered(const BlockTable& table, std::span<const ChainKey> chain, std::size_t from,
                    Candidates& candidates) {
  constexpr std::size_t kSlotsAhead = 16;
  constexpr std::size_t kNodesAhead = 8;
  std::array<BlockTable::Guess, kNodesAhead> guesses;
  for (std::size_t i = 0; i < std::min(chain.size(), kSlotsAhead); ++i) {
    table.prefetch_slot(chain[i]);
  }
  for (std::size_t i = 0; i < std::min(chain.size(), kNodesAhead); ++i) {
    guesses[i] = table.prefetch_node(chain[i]);
  }
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const std::uint64_t* const holders = table.holders_guessed(chain[i], guesses[i % kNodesAhead]);
    if (i + kSlotsAhead < chain.size()) {
      table.prefetch_slot(chain[i + kSlotsAhead]);
    }
    if (i + kNodesAhead < chain.size()) {
      guesses[i % kNodesAhead] = table.prefetch_node(chain[i + kNodesAhead]);
    }
    const auto depth = static_cast<std::uint32_t>(from + i);
    if (holders == nullptr) {
      candidates.settle_all(depth);
      return false;
    }
    if (!candidates.keep(holders, depth)) {
      return false;
    }
  }
  return true;
}

/// Follows the chain. A prompt's blocks were mostly stored together and are neighbours in memory,
/// which spares the search; those of replies came one by one, among others'.
void walk(const BlockTable& table, std::span<const ChainKey> chain, Candidates& candidates) {
  constexpr std::size_t kShortRun = 8;    // neighbours: what follows is scattered, too
  constexpr std::size_t kScattered = 64;  // blocks, before neighbours are tried again
  std::size_t at = 0;
  while (at < chain.size()) {
    const std::size_t begin = at;
    for (BlockId node = table.find(chain[at]); node != kNoBlock;
         node = at < chain.size() ? table.neighbour(node, chain[at]) : kNoBlock) {
      if (const std::size_t run = table.run(node, chain.subspan(at), candidates.bits()); run > 0) {
        at += run;
        node = BlockId{std::to_underlying(node) + static_cast<std::uint32_t>(run) - 1};
        continue;
      }
      if (!candidates.keep(table.holders(node), static_cast<std::uint32_t>(at))) {
        return;
      }
      ++at;
    }
    if (at == begin) {
      break;  // nobody holds it
    }
    if (at - begin < kShortRun && at < chain.size()) {
      const auto part = chain.subspan(at, std::min(kScattered, chain.size() - at));
      if (!walk_scattered(table, part, at, candidates)) {
        return;
      }
      at += part.size();
    }
  }
  candidates.settle_all(static_cast<std::uint32_t>(at));
}

}  // namespace

void BlockIndex::lookup(std::span<const ChainKey> chain, std::span<const StreamId> streams,
                        std::span<std::uint32_t> blocks) const {
  std::ranges::fill(blocks, 0);
  const std::shared_lock table(table_mutex_);
  Candidates candidates(blocks, table_.words());
  bool any = false;
  for (std::size_t i = 0; i < streams.size(); ++i) {
    const auto id = static_cast<std::size_t>(streams[i]);
    if (id < streams_.size() && streams_[id] != nullptr &&
        streams_[id]->usable.load(std::memory_order_relaxed)) {
      candidates.add(std::to_underlying(streams[i]), i);
      any = true;
    }
  }
  if (any) {
    walk(table_, chain, candidates);
  }
}

BlockIndex::StreamStats BlockIndex::stats(StreamId stream) const {
  const std::lock_guard changes(changes_);
  const StreamBlocks& blocks = stream_at(stream).blocks;
  return {.blocks = blocks.size(), .parked = blocks.parked(), .counters = blocks.counters()};
}

BlockIndexStats BlockIndex::stats() const {
  const std::lock_guard changes(changes_);
  BlockIndexStats total{.blocks = table_.size(), .bytes = table_.bytes()};
  for (const auto& stream : streams_) {
    if (stream != nullptr) {
      total.pairs += stream->blocks.size();
      total.bytes += stream->blocks.bytes();
    }
  }
  return total;
}

std::uint32_t BlockIndex::copies(StreamId stream, EngineHash hash) const {
  const std::lock_guard changes(changes_);
  return stream_at(stream).blocks.copies(hash);
}

}  // namespace rolter::kvcache
