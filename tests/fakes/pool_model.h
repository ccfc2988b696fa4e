#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rolter/base/ids.h"
#include "tests/fakes/msgpack_writer.h"

namespace rolter::fakes {

/// vLLM's block pool as its users see it, as plainly as possible: physical blocks with or without a
/// hash, a free list that is evicted from the front, copies of equal blocks, and the events of each
/// step as MessagePack. One token per block.
class PoolModel {
 public:
  enum class Encoding : std::uint8_t { kArray, kMap };

  PoolModel(std::size_t blocks, Encoding encoding, std::uint64_t hash_seed)
      : encoding_(encoding), hash_seed_(hash_seed), blocks_(blocks) {
    for (std::size_t i = 0; i < blocks; ++i) {
      free_.push_back(i);
      place_.push_back(std::prev(free_.end()));
    }
  }

  /// Runs a prompt to its end. Blocks that are cached are used unless `recompute`, as happens when
  /// another request with them has not stored them yet. The last block is always computed.
  void run(const std::vector<TokenId>& prompt, bool recompute) {
    std::vector<std::size_t> held;
    std::uint64_t hash = hash_seed_;
    std::size_t cached = 0;
    while (!recompute && cached + 1 < prompt.size()) {
      const std::uint64_t next = extend(hash, prompt[cached]);
      const auto copies = by_hash_.find(next);
      if (copies == by_hash_.end()) {
        break;
      }
      take(copies->second.back(), held);
      hash = next;
      ++cached;
    }
    const std::uint64_t parent = hash;
    std::vector<std::uint64_t> hashes;
    std::vector<std::uint64_t> tokens;
    for (std::size_t i = cached; i < prompt.size() && !free_.empty(); ++i) {
      const std::size_t block = free_.front();
      evict(block);
      take(block, held);
      hash = extend(hash, prompt[i]);
      blocks_[block] = hash;
      by_hash_[hash].push_back(block);
      hashes.push_back(hash);
      tokens.push_back(prompt[i]);
    }
    if (!hashes.empty()) {
      events_.push_back(stored(hashes, cached == 0 ? std::nullopt : std::optional(parent), tokens));
    }
    for (auto block = held.rbegin(); block != held.rend(); ++block) {
      free_.push_back(*block);  // the tail of the chain is evicted first
      place_[*block] = std::prev(free_.end());
    }
  }

  void clear() {
    for (auto& hash : blocks_) {
      hash.reset();
    }
    by_hash_.clear();
    events_.push_back(event("AllBlocksCleared", {}));
  }

  /// The events since the last call; empty when there are none.
  std::vector<Packed> take_events() { return std::exchange(events_, {}); }

  /// Whether something has happened that no batch has told yet (a clear is told with the next one).
  [[nodiscard]] bool has_untold_events() const { return !events_.empty(); }

  /// The number of leading blocks of the prompt that have a copy.
  [[nodiscard]] std::uint32_t resident(const std::vector<TokenId>& prompt) const {
    std::uint64_t hash = hash_seed_;
    std::uint32_t count = 0;
    for (const TokenId token : prompt) {
      hash = extend(hash, token);
      if (!by_hash_.contains(hash)) {
        break;
      }
      ++count;
    }
    return count;
  }

  [[nodiscard]] std::size_t distinct_blocks() const { return by_hash_.size(); }

 private:
  static std::uint64_t extend(std::uint64_t parent, TokenId token) {
    std::uint64_t value = (parent ^ (token + 1)) * 0x9e3779b97f4a7c15ULL;
    value ^= value >> 29;
    return value * 0xbf58476d1ce4e5b9ULL;
  }

  void take(std::size_t block, std::vector<std::size_t>& held) {
    free_.erase(place_[block]);
    held.push_back(block);
  }

  void evict(std::size_t block) {
    if (!blocks_[block]) {
      return;
    }
    const std::uint64_t hash = *blocks_[block];
    auto& copies = by_hash_.at(hash);
    std::erase(copies, block);
    if (copies.empty()) {
      by_hash_.erase(hash);
    }
    blocks_[block].reset();
    events_.push_back(event("BlockRemoved", {{"block_hashes", numbers({hash})}}));
  }

  [[nodiscard]] Packed stored(const std::vector<std::uint64_t>& hashes,
                              std::optional<std::uint64_t> parent,
                              const std::vector<std::uint64_t>& tokens) const {
    return event("BlockStored", {{"block_hashes", numbers(hashes)},
                                 {"parent_block_hash", parent ? number(*parent) : nil()},
                                 {"token_ids", numbers(tokens)},
                                 {"block_size", number(1)}});
  }

  [[nodiscard]] Packed event(std::string_view tag,
                             const std::vector<std::pair<std::string_view, Packed>>& fields) const {
    if (encoding_ == Encoding::kMap) {
      std::vector<std::pair<std::string_view, Packed>> all{{"type", text(tag)}};
      all.insert(all.end(), fields.begin(), fields.end());
      return map(all);
    }
    std::vector<Packed> items{text(tag)};
    for (const auto& [key, value] : fields) {
      items.push_back(value);
    }
    return array(items);
  }

  Encoding encoding_;
  std::uint64_t hash_seed_;
  std::vector<std::optional<std::uint64_t>> blocks_;  // physical block -> its hash
  std::list<std::size_t> free_;
  std::vector<std::list<std::size_t>::iterator> place_;
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> by_hash_;
  std::vector<Packed> events_;
};

}  // namespace rolter::fakes
