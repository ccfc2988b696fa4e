#include "rolter/kvcache/prompt_ends.h"

#include <utility>

namespace rolter::kvcache {

void PromptEnds::add(StreamId stream, std::span<const ChainKey> chain) {
  if (chain.empty() || limit_ == 0) {
    return;
  }
  const std::uint64_t end = name(stream, chain.back());
  const std::lock_guard lock(mutex_);
  if (!ends_.insert(end).second) {
    return;
  }
  by_age_.push_back(end);
  if (by_age_.size() > limit_) {
    ends_.erase(by_age_.front());
    by_age_.pop_front();
  }
}

std::uint32_t PromptEnds::last_end(StreamId stream, std::span<const ChainKey> chain,
                                   std::uint32_t blocks) const {
  const std::lock_guard lock(mutex_);
  if (ends_.empty()) {
    return 0;
  }
  while (blocks > 0 && !ends_.contains(name(stream, chain[blocks - 1]))) {
    --blocks;
  }
  return blocks;
}

std::uint64_t PromptEnds::name(StreamId stream, ChainKey key) {
  // Keys are hashes already; streams are told apart by a multiple of an odd number.
  return std::to_underlying(key) ^
         (std::uint64_t{std::to_underlying(stream)} + 1) * 0x9e3779b97f4a7c15ULL;
}

}  // namespace rolter::kvcache
