#include "rolter/balance/consistent_hash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "tests/unit/balance/fleet.h"

namespace rolter::balance {
namespace {

std::vector<std::string> labels(std::size_t count) {
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < count; ++i) {
    labels.push_back("vllm-" + std::to_string(i) + "/llama");
  }
  return labels;
}

std::string session(int i) {
  return "session " + std::to_string(i);
}

class ConsistentHashTest : public ::testing::Test {
 protected:
  ConsistentHash strategy_{labels(5), OverloadRule{}};
  Fleet fleet_{strategy_, 5};
};

TEST_F(ConsistentHashTest, a_session_always_goes_to_the_same_target_whatever_it_says) {
  const std::size_t home = fleet_.pick("hello", "s").target;
  EXPECT_EQ(fleet_.pick("hello", "s").reason, Reason::kHash);
  EXPECT_EQ(fleet_.pick("something else", "s").target, home);
  ConsistentHash other_gateway(labels(5), OverloadRule{});
  EXPECT_EQ(Fleet(other_gateway, 5, 99).pick("hello", "s").target, home);
}

TEST_F(ConsistentHashTest, without_a_session_the_head_of_the_prompt_decides) {
  const std::string head(ConsistentHash::kHeadBytes, 'x');
  EXPECT_EQ(fleet_.pick(head + "one").target, fleet_.pick(head + "two").target);
  std::vector<std::size_t> counts(5);
  for (int i = 0; i < 100; ++i) {
    ++counts[fleet_.pick(std::to_string(i)).target];
  }
  EXPECT_GT(*std::ranges::min_element(counts), 0U);
}

TEST_F(ConsistentHashTest, keys_spread_by_weight) {
  fleet_.candidates()[2].weight = 4.0;
  std::vector<std::size_t> counts(5);
  for (int i = 0; i < 100'000; ++i) {
    ++counts[fleet_.pick("", session(i)).target];
  }
  for (std::size_t target = 0; target < 5; ++target) {
    EXPECT_NEAR(static_cast<double>(counts[target]), target == 2 ? 50'000.0 : 12'500.0, 1'000.0);
  }
}

TEST_F(ConsistentHashTest, when_a_target_goes_only_its_own_keys_move) {
  std::vector<std::size_t> before;
  for (int i = 0; i < 1'000; ++i) {
    before.push_back(fleet_.pick("", session(i)).target);
  }
  fleet_.candidates().erase(fleet_.candidates().begin() + 3);
  for (int i = 0; i < 1'000; ++i) {
    const std::size_t now = fleet_.pick("", session(i)).target;
    if (before[static_cast<std::size_t>(i)] == 3) {
      EXPECT_NE(now, 3U);
    } else {
      EXPECT_EQ(now, before[static_cast<std::size_t>(i)]);
    }
  }
}

TEST_F(ConsistentHashTest, a_target_over_its_share_is_passed_over_for_the_key_s_next_choice) {
  const std::size_t home = fleet_.pick("", "s").target;
  for (Candidate& candidate : fleet_.candidates()) {
    candidate.in_flight = 10;
  }
  fleet_.candidates()[home].in_flight = 12;  // its share and a quarter is 13.25, rounded up
  EXPECT_EQ(fleet_.pick("", "s").target, home);
  fleet_.candidates()[home].in_flight = 20;
  const std::size_t next = fleet_.pick("", "s").target;
  EXPECT_NE(next, home);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(fleet_.pick("", "s").target, next);
  }
}

TEST_F(ConsistentHashTest, one_hot_key_loads_no_target_beyond_its_bound) {
  for (int i = 0; i < 200; ++i) {
    (void)fleet_.send("", "hot");
  }
  for (const Candidate& candidate : fleet_.candidates()) {
    EXPECT_LE(candidate.in_flight, 50U);  // 1.25 * 200 / 5
  }
}

TEST_F(ConsistentHashTest, on_a_quiet_fleet_a_short_queue_is_waited_in) {
  const std::size_t home = fleet_.pick("", "s").target;
  fleet_.candidates()[home].in_flight = 2;
  EXPECT_EQ(fleet_.pick("", "s").target, home);
  fleet_.candidates()[home].in_flight = 3;
  EXPECT_NE(fleet_.pick("", "s").target, home);
}

TEST_F(ConsistentHashTest, a_request_without_a_key_goes_to_the_least_loaded) {
  for (Candidate& candidate : fleet_.candidates()) {
    candidate.in_flight = 1;
  }
  fleet_.candidates()[4].in_flight = 0;
  EXPECT_EQ(fleet_.pick().target, 4U);
  EXPECT_EQ(fleet_.pick().reason, Reason::kNoPrompt);
}

}  // namespace
}  // namespace rolter::balance
