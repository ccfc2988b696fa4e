#pragma once

#include <cstdint>
#include <span>

#include "rolter/base/time.h"
#include "rolter/kvcache/block_index.h"
#include "rolter/kvcache/chain_key.h"
#include "rolter/kvcache/pending_blocks.h"

namespace rolter::kvcache {

/// Which blocks each engine holds: those its events told of (index), and those that prompts on
/// their way will have made resident (pending).
///
/// Who feeds the index also calls pending.evicted() when a stream's batch has removed or cleared
/// blocks, and when its engine restarts or batches are missing. Any thread.
struct Residency {
  BlockIndex index;
  PendingBlocks pending;

  /// Sets for each stream the number of leading blocks of `chain` that are resident or pending
  /// there. The streams must be usable ones; the spans have equal sizes; no stream twice. Costs
  /// what the index's own lookup does, and some 100 ns more while anything is pending.
  void lookup(std::span<const ChainKey> chain, std::span<const StreamId> streams, TimePoint now,
              std::span<std::uint32_t> blocks);
};

}  // namespace rolter::kvcache
