#include "rolter/simulator/block_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <variant>
#include <vector>

#include "rolter/base/random.h"

namespace rolter::simulator {
namespace {

using Ids = std::vector<BlockId>;

Ids reversed(Ids ids) {
  std::reverse(ids.begin(), ids.end());
  return ids;
}

std::vector<BlockHash> removed(BlockPool& pool) {
  std::vector<BlockHash> hashes;
  for (const KvEvent& event : pool.take_events()) {
    hashes.push_back(std::get<BlockRemoved>(event).hash);
  }
  return hashes;
}

TEST(BlockPool, one_block_is_the_null_block) {
  BlockPool pool(24);
  EXPECT_EQ(pool.usable_blocks(), 23U);
  EXPECT_EQ(pool.free_blocks(), 23U);
  const Ids all = pool.take(23);
  EXPECT_EQ(std::ranges::count(all, BlockId{0}), 0);
  EXPECT_EQ(pool.free_blocks(), 0U);
}

TEST(BlockPool, a_free_block_keeps_its_content_until_its_memory_is_taken) {
  BlockPool pool(3);
  const Ids block = pool.take(1);
  pool.set_hash(block[0], BlockHash{7});
  pool.release(block);
  EXPECT_EQ(pool.find(BlockHash{7}), block[0]);
  const Ids unused_first = pool.take(1);
  EXPECT_NE(unused_first[0], block[0]);
  EXPECT_TRUE(removed(pool).empty());
  EXPECT_EQ(pool.take(1)[0], block[0]);
  EXPECT_EQ(removed(pool), std::vector{BlockHash{7}});
  EXPECT_FALSE(pool.find(BlockHash{7}));
}

TEST(BlockPool, the_tail_of_a_chain_is_evicted_first_and_blocks_without_content_before_it) {
  BlockPool pool(5);
  const Ids chain = pool.take(4);
  for (std::uint64_t i = 0; i < 3; ++i) {
    pool.set_hash(chain[i], BlockHash{i + 1});  // the fourth is not full
  }
  pool.release(reversed(chain));
  EXPECT_EQ(pool.take(4), (Ids{chain[3], chain[2], chain[1], chain[0]}));
  EXPECT_EQ(removed(pool), (std::vector{BlockHash{3}, BlockHash{2}, BlockHash{1}}));
}

TEST(BlockPool, a_touched_block_is_evicted_last) {
  BlockPool pool(4);
  const Ids blocks = pool.take(3);
  for (std::uint64_t i = 0; i < 3; ++i) {
    pool.set_hash(blocks[i], BlockHash{i + 1});
    pool.release(std::span(&blocks[i], 1));
  }
  pool.touch(std::span(blocks.data(), 1));
  pool.release(std::span(blocks.data(), 1));
  EXPECT_EQ(pool.take(3), (Ids{blocks[1], blocks[2], blocks[0]}));
}

TEST(BlockPool, a_second_copy_survives_the_first) {
  BlockPool pool(3);
  const Ids copies = pool.take(2);
  pool.set_hash(copies[0], BlockHash{9});
  pool.set_hash(copies[1], BlockHash{9});
  pool.release(copies);
  EXPECT_EQ(pool.find(BlockHash{9}), copies[0]) << "the oldest copy serves";
  EXPECT_EQ(pool.take(1)[0], copies[0]);
  EXPECT_EQ(removed(pool), std::vector{BlockHash{9}});
  EXPECT_EQ(pool.find(BlockHash{9}), copies[1]);
}

TEST(BlockPool, reset_is_refused_while_a_block_is_in_use) {
  BlockPool pool(3);
  const Ids block = pool.take(1);
  pool.set_hash(block[0], BlockHash{1});
  EXPECT_FALSE(pool.reset());
  EXPECT_TRUE(pool.find(BlockHash{1}));
  pool.release(block);
  EXPECT_TRUE(pool.reset());
  EXPECT_FALSE(pool.find(BlockHash{1}));
  const std::vector<KvEvent> events = pool.take_events();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<AllBlocksCleared>(events[0]));
  EXPECT_EQ(pool.take(2).size(), 2U);
  EXPECT_TRUE(removed(pool).empty()) << "cleared content is not removed again";
}

/// Random traffic against what must hold: a hash is found exactly while a copy lives, and the
/// events alone tell how many copies there are.
TEST(BlockPool, events_account_for_every_copy) {
  Rng rng(20);
  BlockPool pool(33);
  std::vector<Ids> held;
  std::map<BlockHash, int> copies;
  for (int round = 0; round < 20'000; ++round) {
    if (pool.free_blocks() >= 4 && uniform_index(rng, 2) == 0) {
      Ids blocks = pool.take(1 + uniform_index(rng, 4));
      for (const BlockHash hash : removed(pool)) {
        --copies[hash];
      }
      for (const BlockId block : blocks) {
        if (uniform_index(rng, 4) > 0) {
          const BlockHash hash{uniform_index(rng, 20)};
          pool.set_hash(block, hash);
          ++copies[hash];
        }
      }
      held.push_back(std::move(blocks));
    } else if (!held.empty()) {
      const std::size_t i = uniform_index(rng, held.size());
      pool.release(held[i]);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(i));
    }
    for (const auto& [hash, count] : copies) {
      ASSERT_GE(count, 0);
      ASSERT_EQ(pool.find(hash).has_value(), count > 0);
    }
  }
}

}  // namespace
}  // namespace rolter::simulator
