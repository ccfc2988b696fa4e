#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "rolter/kvcache/block_index.h"

namespace rolter::fakes {

/// A BlockStored that owns what it points at: one token per block by default, whose hash is given.
struct StoredBlocks {
  std::vector<std::uint64_t> hashes;
  std::optional<std::uint64_t> parent = std::nullopt;
  std::vector<TokenId> tokens;
  std::uint32_t block_size = 1;
  std::vector<kvcache::ExtraDigest> extras = {};
  kvcache::EventScope scope = {};
  std::string session_id = {};

  void apply(kvcache::BlockIndex& index, kvcache::StreamId stream) const {
    std::vector<kvcache::EngineHash> names;
    for (const std::uint64_t hash : hashes) {
      names.push_back(kvcache::EngineHash{hash});
    }
    kvcache::BlockStored event{.hashes = names, .tokens = tokens, .block_size = block_size};
    if (parent) {
      event.parent = kvcache::EngineHash{*parent};
    }
    event.extras = extras;
    event.scope = scope;
    event.session_id = session_id;
    index.begin(stream).stored(event);
  }
};

inline void remove_blocks(kvcache::BlockIndex& index, kvcache::StreamId stream,
                          const std::vector<std::uint64_t>& hashes,
                          kvcache::EventScope scope = {}) {
  std::vector<kvcache::EngineHash> names;
  for (const std::uint64_t hash : hashes) {
    names.push_back(kvcache::EngineHash{hash});
  }
  index.begin(stream).removed({.hashes = names, .scope = scope});
}

/// The number of leading blocks of `tokens` that the stream holds.
inline std::uint32_t resident(const kvcache::BlockIndex& index, kvcache::StreamId stream,
                              const std::vector<TokenId>& tokens, std::uint32_t block_size = 1,
                              const kvcache::PromptExtras& extras = {}) {
  std::vector<kvcache::ChainKey> keys;
  kvcache::chain_keys(tokens, block_size, extras, keys);
  std::uint32_t blocks = 0;
  index.lookup(keys, {&stream, 1}, {&blocks, 1});
  return blocks;
}

}  // namespace rolter::fakes
