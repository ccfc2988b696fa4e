#include "rolter/simulator/kv_cache.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <span>
#include <utility>

namespace rolter::simulator {

KvCache::KvCache(std::uint32_t blocks, std::uint32_t block_size, BlockHash root)
    : pool_(blocks), block_size_(std::max(block_size, 1U)), root_(root) {}

std::vector<BlockId> KvCache::find_hit(Sequence& sequence) const {
  const std::size_t usable_tokens = sequence.tokens.size() - 1;
  hash_full_blocks(sequence, usable_tokens);
  std::vector<BlockId> hit;
  for (std::size_t i = 0; i < usable_tokens / block_size_; ++i) {
    const std::optional<BlockId> block = pool_.find(sequence.hashes[i]);
    if (!block) {
      break;
    }
    hit.push_back(*block);
  }
  return hit;
}

bool KvCache::allocate(Sequence& sequence, const std::vector<BlockId>& hit,
                       std::size_t new_tokens) {
  assert(hit.empty() || sequence.blocks.empty());
  const std::size_t tokens = sequence.computed + hit.size() * block_size_ + new_tokens;
  const std::size_t needed = (tokens + block_size_ - 1) / block_size_;
  const std::size_t held = sequence.blocks.size() + hit.size();
  const std::size_t missing = needed > held ? needed - held : 0;
  const auto revived = static_cast<std::size_t>(std::count_if(
      hit.begin(), hit.end(), [this](BlockId block) { return pool_.is_free(block); }));
  if (missing + revived > pool_.free_blocks()) {
    return false;
  }
  if (!hit.empty()) {
    pool_.touch(hit);
    sequence.blocks = hit;
    sequence.findable = hit.size();
  }
  const std::vector<BlockId> fresh = pool_.take(missing);
  sequence.blocks.insert(sequence.blocks.end(), fresh.begin(), fresh.end());
  if (sequence.spec.announce_hits && !hit.empty() && !sequence.hit_tokens) {
    announce(sequence, 0, hit.size());
  }
  make_findable(sequence, std::min(tokens, sequence.tokens.size()));
  return true;
}

void KvCache::release(Sequence& sequence) {
  std::reverse(sequence.blocks.begin(), sequence.blocks.end());
  pool_.release(sequence.blocks);
  sequence.blocks.clear();
  sequence.findable = 0;
}

double KvCache::usage() const {
  const auto usable = static_cast<double>(pool_.usable_blocks());
  return 1.0 - static_cast<double>(pool_.free_blocks()) / usable;
}

void KvCache::hash_full_blocks(Sequence& sequence, std::size_t tokens) const {
  const std::span<const TokenId> all(sequence.tokens);
  while (sequence.hashes.size() < tokens / block_size_) {
    const std::size_t i = sequence.hashes.size();
    const BlockHash parent = i == 0 ? root_ : sequence.hashes[i - 1];
    sequence.hashes.push_back(
        hash_block(parent, all.subspan(i * block_size_, block_size_), extra_keys(sequence, i)));
  }
}

void KvCache::make_findable(Sequence& sequence, std::size_t tokens) {
  hash_full_blocks(sequence, tokens);
  const std::size_t first = sequence.findable;
  const std::size_t full = tokens / block_size_;
  if (full <= first) {
    return;
  }
  for (std::size_t i = first; i < full; ++i) {
    pool_.set_hash(sequence.blocks[i], sequence.hashes[i]);
  }
  sequence.findable = full;
  announce(sequence, first, full);
}

void KvCache::announce(const Sequence& sequence, std::size_t first, std::size_t last) {
  BlockStored event;
  event.hashes.assign(sequence.hashes.begin() + static_cast<std::ptrdiff_t>(first),
                      sequence.hashes.begin() + static_cast<std::ptrdiff_t>(last));
  if (first > 0) {
    event.parent = sequence.hashes[first - 1];
  }
  event.tokens.assign(sequence.tokens.begin() + static_cast<std::ptrdiff_t>(first * block_size_),
                      sequence.tokens.begin() + static_cast<std::ptrdiff_t>(last * block_size_));
  event.block_size = block_size_;
  if (!sequence.spec.lora.empty()) {
    event.lora_id = sequence.spec.lora_id;
    event.lora_name = sequence.spec.lora;
  }
  for (std::size_t i = first; i < last; ++i) {
    event.extra_keys.push_back(extra_keys(sequence, i));
  }
  event.session_id = sequence.spec.session_id;
  pool_.announce(std::move(event));
}

ExtraKeys KvCache::extra_keys(const Sequence& sequence, std::size_t block) const {
  ExtraKeys keys;
  if (!sequence.spec.lora.empty()) {
    keys.push_back(sequence.spec.lora);
  }
  if (block == 0 && !sequence.spec.cache_salt.empty()) {
    keys.push_back(sequence.spec.cache_salt);
  }
  return keys;
}

}  // namespace rolter::simulator
