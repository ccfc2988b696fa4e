#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "rolter/balance/precise_cache_aware.h"
#include "tests/fakes/stored_blocks.h"
#include "tests/unit/balance/fleet.h"

namespace rolter::balance {

using kvcache::ChainKey;
using kvcache::StreamId;

inline constexpr std::uint32_t kBlockSize = 4;
inline constexpr TimePoint kNow = TimePoint{} + std::chrono::hours(1);

/// `count` tokens that begin with those of a smaller count.
inline std::vector<TokenId> tokens(std::size_t count, TokenId first = 0) {
  std::vector<TokenId> ids(count);
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

/// A strategy over engines of which the index knows what a test stores.
class PreciseTest : public ::testing::Test {
 protected:
  StreamId add_engine(std::uint32_t replica, std::uint32_t rank = 0,
                      std::uint32_t block_size = kBlockSize) {
    const StreamId id =
        residency_->index
            .add_stream({.replica = ReplicaSlot{replica}, .rank = rank, .block_size = block_size})
            .value();
    residency_->index.set_usable(id, true);
    return id;
  }

  /// An engine with one rank per target.
  void add_engines(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      streams_.push_back(add_engine(static_cast<std::uint32_t>(i)));
    }
  }

  void store(StreamId stream, const std::vector<TokenId>& ids,
             std::uint32_t block_size = kBlockSize, const kvcache::PromptExtras& extras = {}) {
    std::vector<ChainKey> keys;
    kvcache::chain_keys(ids, block_size, extras, keys);
    fakes::StoredBlocks stored{.hashes = {}, .tokens = ids, .block_size = block_size};
    stored.tokens.resize(keys.size() * block_size);
    for (const ChainKey key : keys) {
      stored.hashes.push_back(static_cast<std::uint64_t>(key));
    }
    if (!extras.cache_salt.empty()) {
      stored.extras.assign(keys.size(), kvcache::ExtraDigest::kNone);
      stored.extras.front() = kvcache::mix_extra(kvcache::ExtraDigest::kNone,
                                                 kvcache::ExtraKind::kText, extras.cache_salt);
    }
    stored.apply(residency_->index, stream);
  }

  std::unique_ptr<PreciseCacheAware> make(const PreciseSettings& settings = {},
                                          std::vector<std::string> models = {"m", "m", "m", "m"}) {
    return std::make_unique<PreciseCacheAware>(settings,
                                               RouteResidency(residency_, std::move(models)));
  }

  PickInput input(const std::vector<TokenId>& ids) const {
    PickInput in = input_for(targets_, "text");
    in.token_ids = ids;
    in.now = kNow;
    return in;
  }

  Decision pick(Strategy& strategy, const std::vector<TokenId>& ids) {
    return strategy.pick(input(ids), rng_, nullptr);
  }

  Record send(Strategy& strategy, const std::vector<TokenId>& ids, const Decision& decision) {
    Candidate chosen = targets_[decision.target];
    chosen.rank = decision.rank;
    return strategy.record(input(ids), chosen);
  }

  std::shared_ptr<kvcache::Residency> residency_ = std::make_shared<kvcache::Residency>();
  std::vector<StreamId> streams_;
  std::vector<Candidate> targets_ = idle_targets(4);
  Rng rng_{3};
};

}  // namespace rolter::balance
