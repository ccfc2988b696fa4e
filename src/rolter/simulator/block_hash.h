#pragma once

#include <cstdint>
#include <span>

#include "rolter/base/ids.h"
#include "rolter/simulator/kv_event.h"

namespace rolter::simulator {

/// The parent of a chain's first block. vLLM >= 0.29 fixes it, so that equal prompts have equal
/// hashes in every engine and after a restart; before, it was random per process.
inline constexpr BlockHash kDefaultRootHash{0x766c6c6d2d6e6f6eU};

/// Chain hash of one full block. Not vLLM's value (which digests a Python pickle), but with its
/// properties: it depends on the parent, every token and every extra key.
[[nodiscard]] BlockHash hash_block(BlockHash parent, std::span<const TokenId> tokens,
                                   const ExtraKeys& extra_keys);

}  // namespace rolter::simulator
