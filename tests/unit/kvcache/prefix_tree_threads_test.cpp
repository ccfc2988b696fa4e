// Any thread may call anything: meant for ThreadSanitizer, and for the ceilings under contention.

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "rolter/base/random.h"
#include "rolter/kvcache/prefix_tree.h"

namespace rolter::kvcache {
namespace {

constexpr std::uint32_t kReplicas = 4;
constexpr PrefixTreeLimits kTight{.max_nodes_per_replica = 200, .max_index_bytes = 40'000};

void use_tree(PrefixTree& tree, std::uint64_t seed, int operations) {
  Rng rng(seed);
  std::array<ReplicaSlot, kReplicas> replicas{};
  for (std::uint32_t slot = 0; slot < kReplicas; ++slot) {
    replicas[slot] = ReplicaSlot{slot};
  }
  std::array<std::size_t, kReplicas> matched{};
  for (int i = 0; i < operations; ++i) {
    std::string text(uniform_index(rng, 40), 'x');
    for (char& byte : text) {
      byte = static_cast<char>('a' + uniform_index(rng, 2));
    }
    const std::size_t dice = uniform_index(rng, 100);
    const ReplicaSlot replica = replicas[uniform_index(rng, kReplicas)];
    if (dice < 50) {
      tree.match(1, text, replicas, matched);
      for (const std::size_t bytes : matched) {
        ASSERT_LE(bytes, text.size());
      }
    } else if (dice < 90) {
      const auto ticket = tree.insert(1, text, replica);
      if (dice < 60) {
        tree.undo(ticket);
      }
    } else if (dice < 98) {
      const PrefixTreeStats stats = tree.stats();
      ASSERT_LE(stats.index_bytes, kTight.max_index_bytes);
      ASSERT_LE(tree.held_nodes(replica), kTight.max_nodes_per_replica);
    } else {
      tree.remove_replica(replica);
    }
  }
}

TEST(PrefixTreeThreads, ceilings_hold_for_every_reader_and_nothing_is_left_behind) {
  constexpr int kThreads = 4;
  PrefixTree tree(kTight);
  {
    std::latch start(kThreads);
    std::vector<std::jthread> threads;
    for (std::uint64_t seed = 1; seed <= kThreads; ++seed) {
      threads.emplace_back([&tree, &start, seed] {
        start.arrive_and_wait();
        use_tree(tree, seed, 5'000);
      });
    }
  }
  for (std::uint32_t slot = 0; slot < kReplicas; ++slot) {
    tree.remove_replica(ReplicaSlot{slot});
  }
  EXPECT_EQ(tree.stats().index_bytes, 0U);
}

}  // namespace
}  // namespace rolter::kvcache
