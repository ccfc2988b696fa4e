#include "rolter/kvcache/pending_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

namespace rolter::kvcache {
namespace {

using namespace std::chrono_literals;
using Ticket = PendingBlocks::Ticket;
using Keys = std::vector<ChainKey>;

constexpr TimePoint kStart = TimePoint{} + std::chrono::hours(1);

StreamId stream(std::uint32_t number) {
  return StreamId{number};
}

/// The keys of a prompt of one token per block.
Keys keys_of(const std::vector<TokenId>& tokens) {
  Keys keys;
  chain_keys(tokens, 1, {}, keys);
  return keys;
}

std::uint32_t pending(PendingBlocks& blocks, std::uint32_t of, const Keys& keys,
                      TimePoint now = kStart) {
  const StreamId id = stream(of);
  std::uint32_t found = 0;
  (void)blocks.lookup(keys, {&id, 1}, now, {&found, 1});
  return found;
}

TEST(PendingBlocksTest, what_was_sent_counts_on_its_stream_as_far_as_prompts_agree) {
  PendingBlocks blocks;
  (void)blocks.add(stream(3), keys_of({1, 2, 3, 4}), kStart);
  EXPECT_EQ(pending(blocks, 3, keys_of({1, 2, 3, 4})), 4U);
  EXPECT_EQ(pending(blocks, 3, keys_of({1, 2, 3, 4, 5})), 4U);
  EXPECT_EQ(pending(blocks, 3, keys_of({1, 2, 9})), 2U);
  EXPECT_EQ(pending(blocks, 3, keys_of({2, 3, 4})), 0U);
  EXPECT_EQ(pending(blocks, 2, keys_of({1, 2, 3, 4})), 0U);
  EXPECT_EQ(pending(blocks, 4, keys_of({1, 2, 3, 4})), 0U);
}

TEST(PendingBlocksTest, a_chain_counts_until_one_second_after_its_answer) {
  PendingBlocks blocks;
  const Ticket ticket = blocks.add(stream(0), keys_of({1, 2}), kStart);
  EXPECT_EQ(pending(blocks, 0, keys_of({1, 2}), kStart + 10min), 2U);
  blocks.answered(ticket, kStart + 10min);
  EXPECT_EQ(pending(blocks, 0, keys_of({1, 2}), kStart + 10min + 999ms), 2U);
  EXPECT_EQ(pending(blocks, 0, keys_of({1, 2}), kStart + 10min + 1s), 0U);
  EXPECT_EQ(blocks.stats().blocks, 0U);
}

TEST(PendingBlocksTest, an_undone_chain_takes_only_its_own_part_along) {
  PendingBlocks blocks;
  const Ticket first = blocks.add(stream(0), keys_of({1, 2, 3}), kStart);
  const Ticket second = blocks.add(stream(0), keys_of({1, 2, 7, 8}), kStart);
  EXPECT_EQ(blocks.stats().blocks, 5U) << "the common beginning is kept once";
  blocks.undo(first);
  EXPECT_EQ(pending(blocks, 0, keys_of({1, 2, 3})), 2U);
  EXPECT_EQ(pending(blocks, 0, keys_of({1, 2, 7, 8})), 4U);
  blocks.undo(second);
  EXPECT_EQ(blocks.stats().blocks, 0U);
}

TEST(PendingBlocksTest, an_eviction_ends_everything_on_its_stream_and_nothing_elsewhere) {
  PendingBlocks blocks;
  const Ticket gone = blocks.add(stream(0), keys_of({1, 2}), kStart);
  (void)blocks.add(stream(0), keys_of({5}), kStart);
  (void)blocks.add(stream(1), keys_of({1, 2}), kStart);
  blocks.evicted(stream(0));
  EXPECT_EQ(pending(blocks, 0, keys_of({1, 2})), 0U);
  EXPECT_EQ(pending(blocks, 0, keys_of({5})), 0U);
  EXPECT_EQ(pending(blocks, 1, keys_of({1, 2})), 2U);
  const Ticket fresh = blocks.add(stream(0), keys_of({1, 2}), kStart);
  blocks.undo(gone);
  blocks.answered(gone, kStart - 1h);
  EXPECT_EQ(pending(blocks, 0, keys_of({1, 2})), 2U) << "the old ticket does not name the new one";
  blocks.undo(fresh);
  EXPECT_EQ(pending(blocks, 0, keys_of({1, 2})), 0U);
}

TEST(PendingBlocksTest, a_lookup_with_nothing_pending_says_so) {
  PendingBlocks blocks;
  const StreamId id = stream(0);
  std::uint32_t found = 7;
  EXPECT_FALSE(blocks.lookup(keys_of({1}), {&id, 1}, kStart, {&found, 1}));
  EXPECT_EQ(found, 7U);
  EXPECT_EQ(blocks.add(stream(0), {}, kStart), Ticket::kNone) << "no full block, nothing to await";
}

TEST(PendingBlocksTest, over_its_limits_a_chain_is_not_taken_and_counted) {
  PendingBlocks blocks({.max_blocks = 4, .max_chains = 2});
  const Ticket first = blocks.add(stream(0), keys_of({1, 2, 3}), kStart);
  EXPECT_EQ(blocks.add(stream(0), keys_of({4, 5}), kStart), Ticket::kNone);
  EXPECT_NE(blocks.add(stream(0), keys_of({4}), kStart), Ticket::kNone);
  blocks.undo(first);
  EXPECT_NE(blocks.add(stream(0), keys_of({5}), kStart), Ticket::kNone);
  EXPECT_EQ(blocks.add(stream(0), keys_of({6}), kStart), Ticket::kNone);
  EXPECT_EQ(blocks.stats().refused, 2U);
}

TEST(PendingBlocksTest, keys_that_collide_end_a_chain_early_and_harm_no_other) {
  PendingBlocks blocks;
  const Keys one = {ChainKey{1}, ChainKey{2}, ChainKey{3}};
  const Keys other = {ChainKey{9}, ChainKey{3}, ChainKey{4}};
  (void)blocks.add(stream(0), one, kStart);
  (void)blocks.add(stream(0), Keys{ChainKey{1}, ChainKey{2}}, kStart);  // a node begins at 3
  (void)blocks.add(stream(0), Keys{ChainKey{9}}, kStart);               // a node ends at 9
  const Ticket colliding = blocks.add(stream(0), other, kStart);
  EXPECT_EQ(pending(blocks, 0, other), 1U);
  blocks.undo(colliding);
  EXPECT_EQ(pending(blocks, 0, one), 3U);
  EXPECT_EQ(pending(blocks, 0, other), 1U);
}

/// The same by comparing every chain.
class NaivePending {
 public:
  struct Chain {
    Ticket ticket;
    StreamId stream;
    Keys keys;
    TimePoint until;
  };

  void add(Chain chain) { chains_.push_back(std::move(chain)); }
  void answered(Ticket ticket, TimePoint now) {
    for (Chain& chain : chains_) {
      if (chain.ticket == ticket) {
        chain.until = std::min(chain.until, now + 1s);
      }
    }
  }
  void undo(Ticket ticket) {
    std::erase_if(chains_, [&](const Chain& chain) { return chain.ticket == ticket; });
  }
  void evicted(StreamId stream) {
    std::erase_if(chains_, [&](const Chain& chain) { return chain.stream == stream; });
  }
  void expire(TimePoint now) {
    std::erase_if(chains_, [&](const Chain& chain) { return chain.until <= now; });
  }
  [[nodiscard]] std::uint32_t pending(StreamId stream, const Keys& keys) const {
    std::size_t best = 0;
    for (const Chain& chain : chains_) {
      if (chain.stream == stream) {
        const auto differ = std::ranges::mismatch(chain.keys, keys);
        best = std::max(best, static_cast<std::size_t>(differ.in2 - keys.begin()));
      }
    }
    return static_cast<std::uint32_t>(best);
  }
  [[nodiscard]] const std::vector<Chain>& chains() const { return chains_; }

 private:
  std::vector<Chain> chains_;
};

TEST(PendingBlocksTest, answers_as_a_comparison_with_every_chain_does) {
  std::mt19937_64 random(17);
  const auto below = [&random](std::uint64_t bound) {
    return static_cast<std::uint32_t>(random() % bound);
  };
  const auto random_keys = [&] {
    std::vector<TokenId> tokens(1 + below(12));
    for (TokenId& token : tokens) {
      token = below(2);
    }
    return keys_of(tokens);
  };
  PendingBlocks blocks;
  NaivePending naive;
  TimePoint now = kStart;
  for (int step = 0; step < 20'000; ++step) {
    now += std::chrono::milliseconds(below(40));
    naive.expire(now);
    const std::uint32_t action = below(100);
    if (action < 45) {
      const StreamId to = stream(below(5));
      const Keys keys = random_keys();
      const Ticket ticket = blocks.add(to, keys, now);
      naive.add({.ticket = ticket, .stream = to, .keys = keys, .until = TimePoint::max()});
    } else if (action < 97 && !naive.chains().empty()) {
      const Ticket ticket = naive.chains()[below(naive.chains().size())].ticket;
      if (action < 80) {
        blocks.answered(ticket, now);
        naive.answered(ticket, now);
      } else {
        blocks.undo(ticket);
        naive.undo(ticket);
      }
    } else {
      const StreamId at = stream(below(5));
      blocks.evicted(at);
      naive.evicted(at);
    }
    const Keys asked = random_keys();
    for (std::uint32_t i = 0; i < 5; ++i) {
      ASSERT_EQ(pending(blocks, i, asked, now), naive.pending(stream(i), asked)) << "step " << step;
    }
  }
  naive.expire(now + 1h);
  for (std::uint32_t i = 0; i < 5; ++i) {
    blocks.evicted(stream(i));
  }
  EXPECT_EQ(blocks.stats().chains, 0U);
  EXPECT_EQ(blocks.stats().blocks, 0U);
}

TEST(PendingBlocksTest, threads_leave_nothing_behind) {
  PendingBlocks blocks;
  const auto work = [&blocks](std::uint32_t own) {
    for (std::uint32_t i = 0; i < 2'000; ++i) {
      const Keys keys = keys_of({1, 2, i % 7, own});
      const Ticket ticket = blocks.add(stream(i % 3), keys, kStart);
      (void)pending(blocks, i % 3, keys);
      i % 2 == 0 ? blocks.undo(ticket) : blocks.answered(ticket, kStart - 1h);
      if (i % 50 == 0) {
        blocks.evicted(stream(i % 3));
      }
    }
  };
  std::thread one(work, 100);
  std::thread two(work, 200);
  one.join();
  two.join();
  EXPECT_EQ(pending(blocks, 0, keys_of({1})), 0U);
  EXPECT_EQ(blocks.stats().chains, 0U);
}

}  // namespace
}  // namespace rolter::kvcache
