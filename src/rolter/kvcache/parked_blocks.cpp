#include "rolter/kvcache/parked_blocks.h"

#include <algorithm>
#include <utility>

namespace rolter::kvcache {

void ParkedBlocks::park(EngineHash hash, EngineHash parent, std::span<const TokenId> tokens,
                        ExtraDigest extra) {
  if (const auto known = places_.find(hash); known != places_.end()) {
    ++known->second->copies;
    return;
  }
  if (max_blocks_ == 0) {
    ++dropped_;
    return;
  }
  if (blocks_.size() >= max_blocks_) {
    take_out(blocks_.begin());
    ++dropped_;
  }
  blocks_.push_back({.hash = hash,
                     .parent = parent,
                     .extra = extra,
                     .tokens = std::vector<TokenId>(tokens.begin(), tokens.end())});
  places_.emplace(hash, std::prev(blocks_.end()));
  children_[parent].push_back(hash);
}

bool ParkedBlocks::remove_copy(EngineHash hash) {
  const auto known = places_.find(hash);
  if (known == places_.end()) {
    return false;
  }
  if (--known->second->copies == 0) {
    take_out(known->second);
  }
  return true;
}

std::optional<ParkedBlocks::Block> ParkedBlocks::take_child_of(EngineHash parent) {
  const auto children = children_.find(parent);
  if (children == children_.end()) {
    return std::nullopt;
  }
  const Place place = places_.at(children->second.back());
  Block block = *place;
  take_out(place);
  return block;
}

void ParkedBlocks::clear() {
  blocks_.clear();
  places_.clear();
  children_.clear();
}

void ParkedBlocks::take_out(Place place) {
  const auto children = children_.find(place->parent);
  auto& hashes = children->second;
  std::iter_swap(std::ranges::find(hashes, place->hash), std::prev(hashes.end()));
  hashes.pop_back();
  if (hashes.empty()) {
    children_.erase(children);
  }
  places_.erase(place->hash);
  blocks_.erase(place);
}

}  // namespace rolter::kvcache
