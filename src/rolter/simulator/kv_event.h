#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "rolter/base/ids.h"

namespace rolter::simulator {

/// A block's content and everything before it, as one engine names it (vLLM: the low 64 bits of a
/// digest over parent, tokens and extra keys).
enum class BlockHash : std::uint64_t {};

/// What beside the tokens separates blocks: adapter name on every block, cache_salt on the first.
using ExtraKeys = std::vector<std::string>;

/// Full blocks that have become findable in one step of one request, root first.
struct BlockStored {
  std::vector<BlockHash> hashes;
  std::optional<BlockHash> parent;  // absent = the chain starts here
  std::vector<TokenId> tokens;      // hashes.size() * block_size
  std::uint32_t block_size = 0;
  std::optional<std::uint32_t> lora_id;
  std::string lora_name;              // "" = none
  std::vector<ExtraKeys> extra_keys;  // one per block, empty = nil
  std::string session_id;             // "" = none
};

/// One physical copy has been reused for something else (vLLM sends one event per copy).
struct BlockRemoved {
  BlockHash hash{};
};

struct AllBlocksCleared {};

using KvEvent = std::variant<BlockStored, BlockRemoved, AllBlocksCleared>;

/// What one scheduler step changed, in order. Never empty.
struct EventBatch {
  double unix_seconds = 0.0;
  std::vector<KvEvent> events;
  std::uint32_t dp_rank = 0;
};

}  // namespace rolter::simulator
