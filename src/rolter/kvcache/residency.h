#pragma once

#include <cstdint>
#include <span>

#include "rolter/base/time.h"
#include "rolter/kvcache/block_index.h"
#include "rolter/kvcache/chain_key.h"
#include "rolter/kvcache/learned_chains.h"
#include "rolter/kvcache/pending_blocks.h"
#include "rolter/kvcache/prompt_ends.h"

namespace rolter::kvcache {

/// Which blocks each engine holds: those its events told of (index), and those that prompts on
/// their way will have made resident (pending); and which blocks a prompt of plain text has, as far
/// as that has been learned from events (learned). What a stream's events remove or clear, and a
/// stream that is forgotten after a restart or a gap, ends all that is pending there. Any thread.
struct Residency final : private BlockListener {
  PendingBlocks pending;
  PromptEnds ends;  // of streams whose model reuses a prefix only there
  LearnedChains learned;
  BlockIndex index{this};

  /// Sets for each stream the number of leading blocks of `chain` that are resident or pending
  /// there. The streams must be usable ones; the spans have equal sizes; no stream twice. Costs
  /// what the index's own lookup does, and some 100 ns more while anything is pending. Returns
  /// whether pending blocks count for any of them.
  bool lookup(std::span<const ChainKey> chain, std::span<const StreamId> streams, TimePoint now,
              std::span<std::uint32_t> blocks);

 private:
  void on_stored(const StoredChain& chain) override { learned.stored(chain); }
  void on_removed(StreamId stream, ChainKey /*key*/) override { pending.evicted(stream); }
  void on_cleared(StreamId stream) override { pending.evicted(stream); }
};

}  // namespace rolter::kvcache
