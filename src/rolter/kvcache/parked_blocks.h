#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/container/inlined_vector.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <span>
#include <vector>

#include "rolter/base/ids.h"
#include "rolter/kvcache/kv_event.h"

namespace rolter::kvcache {

/// Blocks of one stream whose parent was never announced (a late join, a lost batch, a partial
/// entry): their place in a chain is unknown, so they are kept aside, with their tokens, until the
/// parent arrives. Bounded: the block parked longest ago is dropped first. Not thread-safe.
class ParkedBlocks {
 public:
  struct Block {
    EngineHash hash{};
    EngineHash parent{};
    std::uint32_t copies = 1;
    ExtraDigest extra = ExtraDigest::kNone;
    std::vector<TokenId> tokens;
  };

  explicit ParkedBlocks(std::size_t max_blocks) : max_blocks_(max_blocks) {}

  [[nodiscard]] bool empty() const { return places_.empty(); }
  [[nodiscard]] std::size_t size() const { return places_.size(); }
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

  /// Parks the block, or counts one more copy of it.
  void park(EngineHash hash, EngineHash parent, std::span<const TokenId> tokens, ExtraDigest extra);

  /// One copy was evicted. False when the block is not here.
  bool remove_copy(EngineHash hash);

  /// Takes out some block whose parent is `parent`.
  [[nodiscard]] std::optional<Block> take_child_of(EngineHash parent);

  void clear();

 private:
  using Place = std::list<Block>::iterator;

  void take_out(Place place);

  std::size_t max_blocks_;
  std::list<Block> blocks_;  // oldest first
  absl::flat_hash_map<EngineHash, Place> places_;
  absl::flat_hash_map<EngineHash, absl::InlinedVector<EngineHash, 2>> children_;
  std::uint64_t dropped_ = 0;
};

}  // namespace rolter::kvcache
