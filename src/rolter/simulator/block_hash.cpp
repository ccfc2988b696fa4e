#include "rolter/simulator/block_hash.h"

#include <xxhash.h>

namespace rolter::simulator {

BlockHash hash_block(BlockHash parent, std::span<const TokenId> tokens,
                     const ExtraKeys& extra_keys) {
  auto seed = static_cast<XXH64_hash_t>(parent);
  for (const std::string& key : extra_keys) {
    seed = XXH3_64bits_withSeed(key.data(), key.size(), seed + 1);
  }
  return BlockHash{XXH3_64bits_withSeed(tokens.data(), tokens.size_bytes(), seed)};
}

}  // namespace rolter::simulator
