#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "rolter/balance/least_load.h"
#include "rolter/balance/random.h"
#include "rolter/balance/round_robin.h"
#include "rolter/balance/weighted.h"
#include "tests/unit/balance/fleet.h"

namespace rolter::balance {
namespace {

constexpr int kPicks = 100'000;

TEST(RoundRobin, takes_each_eligible_target_in_turn) {
  RoundRobin strategy;
  Fleet fleet(strategy, 3);
  for (std::size_t i = 0; i < 9; ++i) {
    const Decision decision = fleet.pick();
    EXPECT_EQ(decision.target, i % 3);
    EXPECT_EQ(decision.reason, Reason::kRoundRobin);
  }
  fleet.candidates().erase(fleet.candidates().begin() + 1);
  EXPECT_NE(fleet.pick().target, 1U);
}

TEST(RoundRobin, routes_do_not_share_a_turn) {
  RoundRobin one;
  RoundRobin other;
  Fleet first(one, 2);
  Fleet second(other, 2);
  for (std::size_t i = 0; i < 10; ++i) {  // alternating would leave a shared turn at one target
    EXPECT_EQ(first.pick().target, i % 2);
    EXPECT_EQ(second.pick().target, i % 2);
  }
}

TEST(RoundRobin, explaining_does_not_take_a_turn) {
  RoundRobin strategy;
  const std::vector<Candidate> targets = idle_targets(3);
  Rng rng(1);
  std::vector<Score> scores;
  EXPECT_EQ(strategy.pick(input_for(targets), rng, &scores).target, 0U);
  EXPECT_EQ(strategy.pick(input_for(targets), rng, nullptr).target, 0U);
  EXPECT_EQ(scores.size(), 3U);
}

TEST(RoundRobin, the_turn_goes_on_over_a_reload) {
  RoundRobin before;
  Fleet fleet(before, 3);
  EXPECT_EQ(fleet.pick().target, 0U);
  RoundRobin after(&before);
  Fleet reloaded(after, 3);
  EXPECT_EQ(reloaded.pick().target, 1U);
}

TEST(RoundRobin, is_exactly_even_from_many_threads) {
  RoundRobin strategy;
  const std::vector<Candidate> targets = idle_targets(4);
  std::array<std::array<std::size_t, 4>, 4> counts{};
  {
    std::vector<std::jthread> threads;
    for (auto& mine : counts) {
      threads.emplace_back([&strategy, &targets, &mine] {
        Rng rng(1);
        for (int i = 0; i < 10'000; ++i) {
          ++mine[strategy.pick(input_for(targets), rng, nullptr).target];
        }
      });
    }
  }
  for (std::size_t target = 0; target < 4; ++target) {
    EXPECT_EQ(counts[0][target] + counts[1][target] + counts[2][target] + counts[3][target],
              10'000U);
  }
}

TEST(Random, is_uniform) {
  Random strategy;
  Fleet fleet(strategy, 5);
  std::vector<std::size_t> counts(5);
  for (int i = 0; i < kPicks; ++i) {
    ++counts[fleet.pick().target];
  }
  for (const std::size_t count : counts) {
    EXPECT_NEAR(static_cast<double>(count) / kPicks, 0.2, 0.01);
  }
}

TEST(LeastLoad, takes_the_shortest_queue) {
  LeastLoad strategy;
  Fleet fleet(strategy, 3);
  fleet.candidates()[0].in_flight = 2;
  fleet.candidates()[1].in_flight = 1;
  fleet.candidates()[2].in_flight = 3;
  EXPECT_EQ(fleet.pick().target, 1U);
}

TEST(LeastLoad, believes_the_engine_where_it_says_how_long_its_queue_is) {
  LeastLoad strategy;
  Fleet fleet(strategy, 3);
  fleet.candidates()[0].in_flight = 0;
  fleet.candidates()[0].queued = 9.0;  // other gateways send there too
  fleet.candidates()[1].in_flight = 5;
  fleet.candidates()[1].queued = 1.0;
  fleet.candidates()[2].in_flight = 2;  // unknown is not empty
  EXPECT_EQ(fleet.pick().target, 1U);
}

TEST(LeastLoad, ties_spread_evenly) {
  LeastLoad strategy;
  Fleet fleet(strategy, 4);
  std::vector<std::size_t> counts(4);
  for (int i = 0; i < kPicks; ++i) {
    ++counts[fleet.pick().target];
  }
  for (const std::size_t count : counts) {
    EXPECT_NEAR(static_cast<double>(count) / kPicks, 0.25, 0.01);
  }
}

TEST(Weighted, shares_are_exact_over_a_round_and_turns_are_spread) {
  Weighted strategy;
  Fleet fleet(strategy, 3);
  fleet.candidates()[0].weight = 5.0;
  std::string order;
  for (int i = 0; i < 14; ++i) {
    order += static_cast<char>('a' + fleet.pick().target);
  }
  EXPECT_EQ(order, "aabacaaaabacaa");  // nginx's order for weights 5, 1, 1
}

TEST(Weighted, targets_keep_their_claims_over_a_reload_that_moves_them) {
  Weighted before({"a", "b"}, nullptr);
  Fleet fleet(before, 2);
  EXPECT_EQ(fleet.pick().target, 0U);
  Weighted after({"new", "a", "b"}, &before);
  Fleet reloaded(after, 3);
  EXPECT_EQ(reloaded.pick().target, 2U);  // b's turn
}

TEST(Weighted, fractions_are_weights_too) {
  Weighted strategy;
  Fleet fleet(strategy, 3);
  const std::array weights{0.5, 1.25, 3.25};
  for (std::size_t i = 0; i < weights.size(); ++i) {
    fleet.candidates()[i].weight = weights[i];
  }
  std::vector<std::size_t> counts(3);
  for (int i = 0; i < kPicks; ++i) {
    ++counts[fleet.pick().target];
  }
  for (std::size_t i = 0; i < weights.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(counts[i]) / kPicks, weights[i] / 5.0, 0.01);
  }
}

TEST(Weighted, a_target_that_was_away_does_not_come_back_with_a_claim) {
  Weighted strategy;
  Fleet fleet(strategy, 2);
  const std::vector<Candidate> both = fleet.candidates();
  (void)fleet.pick();
  fleet.candidates().resize(1);
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_EQ(fleet.pick().target, 0U);
  }
  fleet.candidates() = both;
  std::vector<std::size_t> counts(2);
  for (int i = 0; i < 10; ++i) {
    ++counts[fleet.pick().target];
  }
  EXPECT_NEAR(static_cast<double>(counts[1]), 5.0, 1.0);
}

TEST(Weighted, a_target_in_slow_start_gets_its_ramp_of_the_share) {
  Weighted strategy;
  Fleet fleet(strategy, 2);
  fleet.candidates()[1].ramp = 0.25;
  std::vector<std::size_t> counts(2);
  for (int i = 0; i < 1'000; ++i) {
    ++counts[fleet.pick().target];
  }
  EXPECT_NEAR(static_cast<double>(counts[1]), 200.0, 2.0);
}

}  // namespace
}  // namespace rolter::balance
