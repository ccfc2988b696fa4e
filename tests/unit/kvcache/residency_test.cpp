#include "rolter/kvcache/residency.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <random>
#include <set>
#include <vector>

#include "tests/fakes/stored_blocks.h"

namespace rolter::kvcache {
namespace {

constexpr TimePoint kNow = TimePoint{} + std::chrono::hours(1);

class ResidencyTest : public ::testing::Test {
 protected:
  StreamId add_stream(std::uint32_t replica) {
    const StreamId id = residency_.index.add_stream({.replica = ReplicaSlot{replica}}).value();
    residency_.index.set_usable(id, true);
    return id;
  }

  static std::vector<ChainKey> keys_of(const std::vector<TokenId>& tokens) {
    std::vector<ChainKey> keys;
    chain_keys(tokens, 1, {}, keys);
    return keys;
  }

  /// One block per token, named by its place: equal chains have equal names.
  void store(StreamId stream, const std::vector<TokenId>& tokens) {
    fakes::StoredBlocks stored{.hashes = {}, .tokens = tokens};
    for (const ChainKey key : keys_of(tokens)) {
      stored.hashes.push_back(static_cast<std::uint64_t>(key));
    }
    stored.apply(residency_.index, stream);
  }
  void evict(StreamId stream, ChainKey key) {
    fakes::remove_blocks(residency_.index, stream, {static_cast<std::uint64_t>(key)});
  }

  std::uint32_t leading(StreamId stream, const std::vector<TokenId>& tokens) {
    std::uint32_t blocks = 0;
    residency_.lookup(keys_of(tokens), {&stream, 1}, kNow, {&blocks, 1});
    return blocks;
  }

  Residency residency_;
};

TEST_F(ResidencyTest, counts_what_is_resident_and_what_is_on_its_way) {
  const StreamId a = add_stream(0);
  const StreamId b = add_stream(1);
  store(a, {1, 2, 3});
  (void)residency_.pending.add(b, keys_of({1, 2}), kNow);
  const std::array streams{b, a};
  std::array<std::uint32_t, 2> blocks{};
  residency_.lookup(keys_of({1, 2, 3, 4}), streams, kNow, blocks);
  EXPECT_EQ(blocks[0], 2U);
  EXPECT_EQ(blocks[1], 3U);
}

TEST_F(ResidencyTest, what_is_on_its_way_ends_with_an_eviction_a_clear_or_a_restart_there) {
  const StreamId a = add_stream(0);
  const StreamId b = add_stream(1);
  const auto send = [&] {
    (void)residency_.pending.add(a, keys_of({5, 6}), kNow);
    (void)residency_.pending.add(b, keys_of({5, 6}), kNow);
  };
  send();
  store(a, {1, 2});
  EXPECT_EQ(leading(a, {5, 6}), 2U) << "a store says nothing of what was there before";
  evict(a, keys_of({1, 2})[1]);
  EXPECT_EQ(leading(a, {5, 6}), 0U);
  send();
  residency_.index.begin(a).cleared();
  EXPECT_EQ(leading(a, {5, 6}), 0U);
  send();
  residency_.index.forget(a, BlockIndex::Forget::kBlocksAndEngine);
  EXPECT_EQ(leading(a, {5, 6}), 0U);
  EXPECT_EQ(leading(b, {5, 6}), 2U);
}

TEST_F(ResidencyTest, blocks_behind_a_hole_count_again_once_it_is_about_to_be_filled) {
  const StreamId a = add_stream(0);
  store(a, {1, 2, 3, 4});
  evict(a, keys_of({1, 2})[1]);
  EXPECT_EQ(leading(a, {1, 2, 3, 4, 5}), 1U);
  (void)residency_.pending.add(a, keys_of({1, 2}), kNow);
  EXPECT_EQ(leading(a, {1, 2, 3, 4, 5}), 4U);
}

TEST_F(ResidencyTest, answers_as_two_sets_of_blocks_do) {
  std::mt19937_64 random(5);
  const auto below = [&random](std::uint64_t bound) {
    return static_cast<std::uint32_t>(random() % bound);
  };
  const auto prompt = [&] {
    std::vector<TokenId> tokens(1 + below(8));
    for (TokenId& token : tokens) {
      token = below(2);
    }
    return tokens;
  };
  const StreamId a = add_stream(0);
  std::set<ChainKey> resident;
  std::set<ChainKey> pending;
  for (int round = 0; round < 3'000; ++round) {
    if (round % 5 == 0) {
      residency_.pending.evicted(a);
      residency_.index.forget(a, BlockIndex::Forget::kBlocks);
      resident.clear();
      pending.clear();
    }
    const std::vector<TokenId> tokens = prompt();
    const std::vector<ChainKey> keys = keys_of(tokens);
    if (below(2) == 0) {
      store(a, tokens);
      resident.insert(keys.begin(), keys.end());
      const ChainKey hole = keys[below(keys.size())];
      resident.erase(hole);
      pending.clear();
      while (residency_.index.copies(a, EngineHash{static_cast<std::uint64_t>(hole)}) > 0) {
        evict(a, hole);
      }
    } else {
      (void)residency_.pending.add(a, keys, kNow);
      pending.insert(keys.begin(), keys.end());
    }
    const std::vector<TokenId> asked = prompt();
    const std::vector<ChainKey> chain = keys_of(asked);
    const auto missing = std::ranges::find_if(
        chain, [&](ChainKey key) { return !resident.contains(key) && !pending.contains(key); });
    ASSERT_EQ(leading(a, asked), missing - chain.begin()) << "round " << round;
  }
}

}  // namespace
}  // namespace rolter::kvcache
