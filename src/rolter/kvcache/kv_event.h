#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "rolter/base/ids.h"
#include "rolter/kvcache/chain_key.h"

namespace rolter::kvcache {

/// A batch as it came: MessagePack.
using Payload = std::span<const std::byte>;

/// An engine's name of a block, opaque to us and good within one engine process: integers as they
/// come (negative ones as their 64 bits), byte strings by their last 8 bytes, big-endian, which is
/// vLLM's own rule for integers (kv_cache_utils.py, maybe_convert_block_hash).
enum class EngineHash : std::uint64_t {};

/// Where an engine keeps the block. Only GPU memory counts as resident: other tiers are stores
/// without removals (LMCache) or come without tokens (offloading before vLLM PR 43468).
enum class Medium : std::uint8_t { kGpu, kOther };

/// The attention type of the event's KV-cache group (kv_cache_spec_kind, vLLM >= 0.22).
enum class GroupKind : std::uint8_t {
  kUnsaid,
  kFullAttention,  // and MLA: holds every block of a prefix
  kPartial,        // sliding window, Mamba and the like: holds windows or checkpoints only
};

/// What tells apart events of one engine that name the same hash.
struct EventScope {
  Medium medium = Medium::kGpu;
  GroupKind kind = GroupKind::kUnsaid;
  std::optional<std::uint32_t> group = std::nullopt;
  bool operator==(const EventScope&) const = default;
};

/// Blocks that became full and cached: a piece of one chain, parent first.
/// tokens.size() == hashes.size() * block_size is usual and not guaranteed (sparse groups).
struct BlockStored {
  std::span<const EngineHash> hashes;
  std::optional<EngineHash> parent = std::nullopt;  // absent: the chain starts here
  std::span<const TokenId> tokens;
  std::uint32_t block_size = 0;              // tokens; 0 = not said
  std::span<const ExtraDigest> extras = {};  // one per hash, or empty when no block has any
  std::string_view adapter = {};             // lora_name
  std::string_view session_id = {};          // of the request that caused the store (vLLM >= 0.30)
  EventScope scope = {};
};

/// Physical copies that were evicted: one hash per copy.
struct BlockRemoved {
  std::span<const EngineHash> hashes;
  EventScope scope = {};
};

/// Receives the events of one batch in order. Views are good during the call only.
class KvEventSink {
 public:
  virtual ~KvEventSink() = default;
  virtual void stored(const BlockStored& event) = 0;
  virtual void removed(const BlockRemoved& event) = 0;
  virtual void cleared() = 0;
};

}  // namespace rolter::kvcache
