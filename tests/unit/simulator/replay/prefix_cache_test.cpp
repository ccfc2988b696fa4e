#include "rolter/simulator/replay/prefix_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <vector>

#include "rolter/base/random.h"

namespace rolter::simulator::replay {
namespace {

using Chain = std::vector<BlockId>;

TEST(PrefixCache, of_blocks_used_together_the_tail_of_the_chain_goes_first) {
  PrefixCache cache(4, 10);
  CacheChange change;
  cache.use(Chain{0, 1, 2}, change);
  EXPECT_EQ(change.stored, (Chain{0, 1, 2}));
  change.clear();
  cache.use(Chain{5, 6, 7}, change);
  EXPECT_EQ(change.stored, (Chain{5, 6, 7}));
  EXPECT_EQ(change.removed, (Chain{2, 1}));
  EXPECT_EQ(cache.leading(Chain{0, 1, 2}), 1U);
  EXPECT_EQ(cache.size(), 4U);
}

TEST(PrefixCache, what_is_used_again_becomes_the_youngest) {
  PrefixCache cache(4, 10);
  CacheChange change;
  cache.use(Chain{0, 1}, change);
  cache.use(Chain{2, 3}, change);
  cache.use(Chain{0, 1}, change);
  change.clear();
  cache.use(Chain{4, 5}, change);
  EXPECT_EQ(change.removed, (Chain{3, 2}));
  EXPECT_EQ(cache.leading(Chain{0, 1}), 2U);
}

TEST(PrefixCache, a_chain_longer_than_the_cache_keeps_its_beginning) {
  PrefixCache cache(2, 10);
  CacheChange change;
  cache.use(Chain{0, 1, 2, 3}, change);
  EXPECT_EQ(cache.leading(Chain{0, 1, 2, 3}), 2U);
  EXPECT_EQ(change.removed, (Chain{3, 2}));
}

/// The same by the book: a list, searched.
class ListCache {
 public:
  explicit ListCache(std::size_t capacity) : capacity_(capacity) {}
  void use(const Chain& chain) {
    for (std::size_t i = chain.size(); i > 0; --i) {
      by_age_.remove(chain[i - 1]);
      by_age_.push_front(chain[i - 1]);
    }
    while (by_age_.size() > capacity_) {
      by_age_.pop_back();
    }
  }
  [[nodiscard]] bool holds(BlockId block) const {
    return std::ranges::find(by_age_, block) != by_age_.end();
  }

 private:
  std::size_t capacity_;
  std::list<BlockId> by_age_;
};

TEST(PrefixCache, equals_a_searched_list_and_tells_every_change) {
  constexpr std::size_t kGroups = 20;
  constexpr std::size_t kLongest = 8;
  Rng rng(7);
  PrefixCache cache(40, kGroups * kLongest);
  ListCache model(40);
  std::vector<int> told(kGroups * kLongest, 0);
  for (int round = 0; round < 2'000; ++round) {
    const std::size_t group = uniform_index(rng, kGroups);
    Chain chain;
    for (std::size_t i = 0; i <= uniform_index(rng, kLongest); ++i) {
      chain.push_back(static_cast<BlockId>(group * kLongest + i));
    }
    CacheChange change;
    cache.use(chain, change);
    model.use(chain);
    for (const BlockId block : change.stored) {
      ++told[block];
    }
    for (const BlockId block : change.removed) {
      --told[block];
    }
    for (BlockId block = 0; block < told.size(); ++block) {
      ASSERT_EQ(cache.holds(block), model.holds(block));
      ASSERT_EQ(told[block], model.holds(block) ? 1 : 0);
    }
  }
}

}  // namespace
}  // namespace rolter::simulator::replay
