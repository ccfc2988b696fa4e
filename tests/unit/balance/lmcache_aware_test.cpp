#include "rolter/balance/lmcache_aware.h"

#include <gtest/gtest.h>

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/unit/balance/fleet.h"

namespace rolter::balance {
namespace {

/// Idle targets whose LMCache servers have so much room.
std::vector<Candidate> with_room(const std::vector<std::optional<double>>& rooms) {
  std::vector<Candidate> targets = idle_targets(rooms.size());
  for (std::size_t i = 0; i < rooms.size(); ++i) {
    targets[i].cache_room = rooms[i];
  }
  return targets;
}

Decision pick(const std::vector<Candidate>& targets, LmcacheSettings settings = {}) {
  LmcacheAware strategy(settings);
  Rng rng(5);
  return strategy.pick(input_for(targets), rng, nullptr);
}

TEST(LmcacheAwareTest, the_target_with_the_most_room_is_chosen) {
  const Decision decision = pick(with_room({0.2, 0.7, 0.5}));
  EXPECT_EQ(decision.target, 1U);
  EXPECT_EQ(decision.reason, Reason::kOccupancy);
}

TEST(LmcacheAwareTest, a_target_without_an_answer_counts_as_the_mean_of_the_others) {
  EXPECT_EQ(pick(with_room({0.2, std::nullopt, 0.3})).target, 2U);
  std::vector<Candidate> targets = with_room({0.1, std::nullopt, 0.3});
  targets[2].in_flight = 2;  // costs 0.0625; the mean is 0.1 below
  EXPECT_EQ(pick(targets).target, 2U);
  targets[2].in_flight = 2;
  targets[2].cache_room = 0.15;  // the mean is 0.025 below
  EXPECT_EQ(pick(targets).target, 1U);
}

TEST(LmcacheAwareTest, when_nothing_is_known_the_least_loaded_is_chosen) {
  std::vector<Candidate> targets = with_room({std::nullopt, std::nullopt});
  targets[0].in_flight = 1;
  const Decision decision = pick(targets);
  EXPECT_EQ(decision.target, 1U);
  EXPECT_EQ(decision.reason, Reason::kNoCredit);
}

TEST(LmcacheAwareTest, a_busy_target_is_passed_over_however_much_room_it_has) {
  std::vector<Candidate> targets = with_room({1.0, 0.1, 0.2});
  targets[0].in_flight = 3;
  EXPECT_EQ(pick(targets).target, 2U);
  targets[0].in_flight = 2;
  EXPECT_EQ(pick(targets).target, 0U);
}

TEST(LmcacheAwareTest, equal_room_goes_to_the_least_loaded_and_then_to_any) {
  std::vector<Candidate> targets = with_room({0.5, 0.5, 0.5, 0.5});
  LmcacheAware strategy({});
  Rng rng(5);
  std::vector<std::size_t> counts(4);
  for (int i = 0; i < 4'000; ++i) {
    ++counts[strategy.pick(input_for(targets), rng, nullptr).target];
  }
  EXPECT_LT(chi_square(counts), 16.27);
  targets[0].in_flight = targets[1].in_flight = targets[3].in_flight = 1;
  EXPECT_EQ(pick(targets).target, 2U);
}

TEST(LmcacheAwareTest, weights_decide_between_room_and_load) {
  std::vector<Candidate> targets = with_room({0.4, 0.2});
  targets[0].in_flight = 2;
  EXPECT_EQ(pick(targets).target, 0U);
  EXPECT_EQ(pick(targets, {.load_weight = 2.0}).target, 1U);
}

TEST(LmcacheAwareTest, explains_every_target) {
  LmcacheAware strategy({});
  Rng rng(5);
  std::vector<Score> scores;
  const std::vector<Candidate> targets = with_room({0.4, std::nullopt});
  (void)strategy.pick(input_for(targets), rng, &scores);
  ASSERT_EQ(scores.size(), 2U);
  EXPECT_EQ(scores[1].parts,
            (std::vector<std::pair<std::string_view, double>>{{"lmcache", 0.4}, {"load", 1.0}}));
  EXPECT_EQ(scores[1].total, 0.65);
}

}  // namespace
}  // namespace rolter::balance
