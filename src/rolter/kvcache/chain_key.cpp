#include "rolter/kvcache/chain_key.h"

#include <cstddef>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace rolter::kvcache {
namespace {

// Spreads a digest over all bits, so that it can be folded into a parent's key by xor.
std::uint64_t spread(std::uint64_t value) {
  value ^= value >> 32;
  value *= 0xd6e8feb86659fd93ULL;
  value ^= value >> 32;
  return value;
}

}  // namespace

ExtraDigest mix_extra(ExtraDigest digest, ExtraKind kind, std::string_view content) {
  const std::uint64_t seed = spread(std::to_underlying(digest) + std::to_underlying(kind) + 1);
  return ExtraDigest{XXH3_64bits_withSeed(content.data(), content.size(), seed)};
}

ExtraDigest mix_extra(ExtraDigest digest, ExtraKind kind, std::uint64_t number) {
  return mix_extra(digest, kind,
                   std::string_view(reinterpret_cast<const char*>(&number), sizeof number));
}

ChainKey extend_chain(ChainKey parent, std::span<const TokenId> tokens, ExtraDigest extra) {
  std::uint64_t seed = std::to_underlying(parent);
  if (extra != ExtraDigest::kNone) {
    seed ^= spread(std::to_underlying(extra));
  }
  return ChainKey{XXH3_64bits_withSeed(tokens.data(), tokens.size_bytes(), seed)};
}

void chain_keys(std::span<const TokenId> ids, std::uint32_t block_size, const PromptExtras& extras,
                std::vector<ChainKey>& keys) {
  keys.clear();
  const std::size_t blocks = ids.size() / block_size;
  keys.reserve(blocks);
  ExtraDigest every_block = ExtraDigest::kNone;
  if (!extras.adapter.empty()) {
    every_block = mix_extra(every_block, ExtraKind::kAdapter, extras.adapter);
  }
  ExtraDigest extra = every_block;
  if (!extras.cache_salt.empty()) {
    extra = mix_extra(extra, ExtraKind::kText, extras.cache_salt);
  }
  ChainKey parent = kRootKey;
  for (std::size_t block = 0; block < blocks; ++block) {
    parent = extend_chain(parent, ids.subspan(block * block_size, block_size), extra);
    keys.push_back(parent);
    extra = every_block;
  }
}

}  // namespace rolter::kvcache
