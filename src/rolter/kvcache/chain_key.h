#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "rolter/base/ids.h"

namespace rolter::kvcache {

/// Our own name of a full block and of everything before it: equal keys mean equal tokens from the
/// start of the prompt and equal extras. Engines with different hash algorithms or seeds therefore
/// share one table. 64 bits: among 10 M blocks two differ with equal keys with odds of 3 in 10^6,
/// and the price would be one misrouted request.
enum class ChainKey : std::uint64_t {};

/// The parent of a chain's first block.
inline constexpr ChainKey kRootKey{0x9ae16a3b2f90404fULL};

/// What an engine mixes into a block's hash beside its tokens: adapter (on every block), cache_salt
/// (on the first), images (on the blocks that they overlap). kNone for a plain block.
enum class ExtraDigest : std::uint64_t { kNone = 0 };

/// The type of one extra, part of its digest: engines publish salts and adapter names untyped, so
/// the adapter is told apart by the event's own field (vLLM issue 44701).
enum class ExtraKind : std::uint8_t { kAdapter, kAdapterNumber, kText, kNumber, kBytes, kOther };

/// Adds one more extra to a block's digest; the order matters. `content` is text or raw bytes.
[[nodiscard]] ExtraDigest mix_extra(ExtraDigest digest, ExtraKind kind, std::string_view content);
[[nodiscard]] ExtraDigest mix_extra(ExtraDigest digest, ExtraKind kind, std::uint64_t number);

/// The key of the block with these tokens after `parent`. `tokens` must be a whole block.
[[nodiscard]] ChainKey extend_chain(ChainKey parent, std::span<const TokenId> tokens,
                                    ExtraDigest extra = ExtraDigest::kNone);

/// What a request says about its extras. Views must outlive the call they are given to.
struct PromptExtras {
  std::string_view adapter = {};     // the LoRA adapter's name; empty = the base model
  std::string_view cache_salt = {};  // empty = none
};

/// Replaces `keys` by the keys of the full blocks of `ids`; the incomplete last block has none.
/// block_size must be > 0. About 12 ns per block of 16 tokens; allocates only while `keys` grows.
void chain_keys(std::span<const TokenId> ids, std::uint32_t block_size, const PromptExtras& extras,
                std::vector<ChainKey>& keys);

}  // namespace rolter::kvcache
