#include "rolter/kvcache/held_limit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <list>
#include <string>

#include "rolter/base/random.h"
#include "rolter/kvcache/prefix_tree.h"

namespace rolter::kvcache {
namespace {

constexpr std::size_t kPromptBytes = 1'000;

TEST(HeldLimit, there_is_none_until_a_prompt_is_missed) {
  HeldLimit limit;
  limit.learn({.prompt_bytes = kPromptBytes, .expected_bytes = 500, .found_bytes = 500}, 100'000);
  limit.learn({.prompt_bytes = kPromptBytes, .expected_bytes = 0, .found_bytes = 900}, 100'000);
  limit.learn({.prompt_bytes = kPromptBytes, .expected_bytes = 500, .found_bytes = 460}, 100'000);
  EXPECT_EQ(limit.bytes(), 0U) << "less than a twentieth is rounding";
  limit.learn({.prompt_bytes = kPromptBytes, .expected_bytes = 1'000, .found_bytes = 0}, 100'000);
  EXPECT_EQ(limit.bytes(), 95'000U);
}

TEST(HeldLimit, more_than_thought_raises_it_and_a_limit_that_is_not_reached_stays) {
  HeldLimit limit;
  limit.learn({.prompt_bytes = kPromptBytes, .expected_bytes = 1'000, .found_bytes = 0}, 100'000);
  limit.learn({.prompt_bytes = kPromptBytes, .expected_bytes = 0, .found_bytes = 1'000}, 95'000);
  EXPECT_EQ(limit.bytes(), 99'750U);
  limit.learn({.prompt_bytes = kPromptBytes, .expected_bytes = 0, .found_bytes = 1'000}, 50'000);
  EXPECT_EQ(limit.bytes(), 99'750U);
}

TEST(HeldLimit, leaves_room_for_some_prompts_when_nothing_is_ever_found) {
  HeldLimit limit;
  std::size_t held = 100'000;
  for (int i = 0; i < 1'000; ++i) {
    limit.learn({.prompt_bytes = kPromptBytes, .expected_bytes = 1'000, .found_bytes = 0}, held);
    held = limit.bytes();
  }
  EXPECT_EQ(limit.bytes(), 4 * kPromptBytes);
}

TEST(HeldLimit, what_was_expected_of_a_larger_tree_says_little_of_a_smaller_one) {
  HeldLimit limit;
  for (int i = 0; i < 1'000; ++i) {  // all on their way before the first report
    limit.learn({.prompt_bytes = kPromptBytes,
                 .expected_bytes = 1'000,
                 .found_bytes = 0,
                 .held_bytes = 100'000},
                limit.bytes());
  }
  EXPECT_NEAR(static_cast<double>(limit.bytes()), 80'000.0, 500.0) << "a fifth less, once";
}

/// An engine that holds the last `capacity` prompts.
class LastPrompts {
 public:
  explicit LastPrompts(std::size_t capacity) : capacity_(capacity) {}
  bool serve(std::size_t prompt) {
    const auto found = std::ranges::find(held_, prompt);
    const bool hit = found != held_.end();
    if (hit) {
      held_.erase(found);
    }
    held_.push_front(prompt);
    if (held_.size() > capacity_) {
      held_.pop_back();
    }
    return hit;
  }

 private:
  std::size_t capacity_;
  std::list<std::size_t> held_;
};

/// Of the last 500 of 1,500 prompts drawn from 400, how many were foreseen rightly.
int foreseen(std::size_t capacity) {
  constexpr ReplicaSlot kReplica{0};
  PrefixTree tree{PrefixTreeLimits{}};
  LastPrompts engine(capacity);
  Rng rng(5);
  int right = 0;
  for (int i = 0; i < 1'500; ++i) {
    const std::size_t prompt = uniform_index(rng, 400);
    std::string text(kPromptBytes, 'x');
    text[0] = static_cast<char>(prompt % 200);
    text[1] = static_cast<char>(prompt / 200);
    std::size_t expected = 0;
    tree.match(1, text, {&kReplica, 1}, {&expected, 1});
    (void)tree.insert(1, text, kReplica);
    const std::size_t found = engine.serve(prompt) ? kPromptBytes : 0;
    tree.learn(kReplica,
               {.prompt_bytes = kPromptBytes, .expected_bytes = expected, .found_bytes = found});
    right += i >= 1'000 && (expected > kPromptBytes / 2) == (found > 0) ? 1 : 0;
  }
  return right;
}

TEST(HeldLimit, a_tree_learns_how_much_its_replica_holds) {
  EXPECT_GT(foreseen(100), 450) << "believing in all 400 is right one time in four";
  EXPECT_GT(foreseen(300), 450);
  EXPECT_EQ(foreseen(400), 500) << "nothing is ever missed";
}

TEST(HeldLimit, a_replica_that_comes_after_another_has_no_limit) {
  constexpr ReplicaSlot kReplica{0};
  PrefixTree tree{PrefixTreeLimits{}};
  for (char name = 'a'; name <= 'z'; ++name) {
    (void)tree.insert(1, std::string(kPromptBytes, name), kReplica);
  }
  for (int i = 0; i < 40; ++i) {
    tree.learn(kReplica,
               {.prompt_bytes = kPromptBytes, .expected_bytes = kPromptBytes, .found_bytes = 0});
  }
  EXPECT_LT(tree.held_bytes(kReplica), 10 * kPromptBytes);
  tree.remove_replica(kReplica);
  for (char name = 'a'; name <= 'z'; ++name) {
    (void)tree.insert(1, std::string(kPromptBytes, name), kReplica);
  }
  EXPECT_EQ(tree.held_bytes(kReplica), 26 * kPromptBytes);
}

TEST(HeldLimit, a_limit_from_a_file_is_at_most_what_can_be_counted) {
  HeldLimit limit;
  limit.set(std::numeric_limits<std::size_t>::max());
  EXPECT_EQ(limit.bytes(), HeldLimit::kMost);
  limit.set(HeldLimit::kMost - 1);
  EXPECT_EQ(limit.bytes(), HeldLimit::kMost - 1);
}

}  // namespace
}  // namespace rolter::kvcache
