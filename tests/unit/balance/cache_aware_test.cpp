#include "rolter/balance/cache_aware.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/balance/fleet.h"

namespace rolter::balance {
namespace {

class CacheAwareTest : public ::testing::Test {
 protected:
  static RoutePrefixes one_tree(std::size_t targets,
                                const std::shared_ptr<kvcache::PrefixTree>& tree) {
    return RoutePrefixes(std::vector(targets, tree));
  }

  std::shared_ptr<kvcache::PrefixTree> tree_ =
      std::make_shared<kvcache::PrefixTree>(kvcache::PrefixTreeLimits{});
  CacheAware strategy_{CacheAwareSettings{}, one_tree(4, tree_)};
  Fleet fleet_{strategy_, 4};
};

TEST_F(CacheAwareTest, a_known_prompt_goes_to_the_replica_that_served_it) {
  fleet_.record(kPrompt, 2);
  const Decision decision = fleet_.pick(kPrompt);
  EXPECT_EQ(decision.target, 2U);
  EXPECT_EQ(decision.reason, Reason::kPrefix);
  EXPECT_EQ(decision.matched, 1.0);
  EXPECT_EQ(decision.matched_units, kPrompt.size());
}

TEST_F(CacheAwareTest, half_the_prompt_is_enough_and_a_byte_less_is_not) {
  fleet_.record(kPrompt.substr(0, 50) + "x", 2);
  EXPECT_EQ(fleet_.pick(kPrompt).reason, Reason::kPrefix);
  EXPECT_EQ(fleet_.pick(kPrompt + "p").reason, Reason::kBelowThreshold);
}

TEST_F(CacheAwareTest, the_longest_match_wins_however_many_share_the_beginning) {
  for (std::size_t target = 0; target < 4; ++target) {
    fleet_.record(kPrompt.substr(0, 60), target);
  }
  fleet_.record(kPrompt.substr(0, 61), 3);
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(fleet_.pick(kPrompt).target, 3U);
  }
}

TEST_F(CacheAwareTest, of_equal_matches_the_least_loaded_wins) {
  fleet_.record(kPrompt, 1);
  fleet_.record(kPrompt, 3);
  fleet_.candidates()[1].in_flight = 2;
  fleet_.candidates()[3].in_flight = 1;
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(fleet_.pick(kPrompt).target, 3U);
  }
}

TEST_F(CacheAwareTest, of_equal_matches_with_equal_load_any_wins) {
  fleet_.record(kPrompt, 1);
  fleet_.record(kPrompt, 3);
  std::vector<std::size_t> counts(4);
  for (int i = 0; i < 1'000; ++i) {
    ++counts[fleet_.pick(kPrompt).target];
  }
  EXPECT_EQ(counts[0] + counts[2], 0U);
  EXPECT_NEAR(static_cast<double>(counts[1]), 500.0, 50.0);
}

TEST_F(CacheAwareTest, a_match_below_the_minimum_of_bytes_is_none) {
  CacheAware strategy(CacheAwareSettings{.min_match_bytes = 64}, one_tree(4, tree_));
  Fleet fleet(strategy, 4);
  const std::string short_prompt = kPrompt.substr(0, 63);
  fleet.record(short_prompt, 2);
  EXPECT_EQ(fleet.pick(short_prompt).reason, Reason::kBelowThreshold);
  fleet.record(short_prompt + "p", 2);
  EXPECT_EQ(fleet.pick(short_prompt + "p").reason, Reason::kPrefix);
}

TEST_F(CacheAwareTest, a_threshold_of_zero_still_needs_a_byte_in_common) {
  CacheAware strategy(CacheAwareSettings{.threshold = 0.0}, one_tree(4, tree_));
  Fleet fleet(strategy, 4);
  EXPECT_EQ(fleet.pick(kPrompt).reason, Reason::kBelowThreshold);
  fleet.record("p and nothing else in common", 1);
  EXPECT_EQ(fleet.pick(kPrompt).reason, Reason::kPrefix);
}

TEST_F(CacheAwareTest, two_requests_beyond_the_least_loaded_are_worth_waiting_for) {
  fleet_.record(kPrompt, 2);
  fleet_.candidates()[2].in_flight = 2;
  EXPECT_EQ(fleet_.pick(kPrompt).target, 2U);
}

TEST_F(CacheAwareTest, three_requests_beyond_are_not) {
  fleet_.record(kPrompt, 2);
  fleet_.candidates()[2].in_flight = 3;
  const Decision decision = fleet_.pick(kPrompt);
  EXPECT_NE(decision.target, 2U);
  EXPECT_EQ(decision.reason, Reason::kOverloaded);
  EXPECT_EQ(decision.matched, 0.0) << "what the chosen one holds, not the one passed over";
}

TEST_F(CacheAwareTest, exactly_one_and_a_half_times_the_least_load_is_not_overloaded) {
  fleet_.record(kPrompt, 2);
  for (Candidate& candidate : fleet_.candidates()) {
    candidate.in_flight = 10;
  }
  fleet_.candidates()[2].in_flight = 15;
  EXPECT_EQ(fleet_.pick(kPrompt).target, 2U);
  fleet_.candidates()[2].in_flight = 16;
  EXPECT_EQ(fleet_.pick(kPrompt).reason, Reason::kOverloaded);
}

TEST_F(CacheAwareTest, an_idle_but_ineligible_replica_makes_nobody_look_busy) {
  fleet_.record(kPrompt, 2);
  fleet_.candidates()[1].in_flight = 4;
  fleet_.candidates()[2].in_flight = 5;
  fleet_.candidates().pop_back();                          // target 3, idle
  fleet_.candidates().erase(fleet_.candidates().begin());  // target 0, idle
  Rng rng(1);
  const Decision decision = strategy_.pick(input_for(fleet_.candidates(), kPrompt), rng, nullptr);
  EXPECT_EQ(decision.target, 2U);
  EXPECT_EQ(decision.reason, Reason::kPrefix);
}

TEST_F(CacheAwareTest, a_match_of_an_ineligible_replica_does_not_count) {
  fleet_.record(kPrompt, 3);
  fleet_.record(kPrompt.substr(0, 70), 0);
  fleet_.candidates().pop_back();
  const Decision decision = fleet_.pick(kPrompt);
  EXPECT_EQ(decision.target, 0U);
  EXPECT_EQ(decision.matched_units, 70U);
}

TEST_F(CacheAwareTest, a_miss_goes_to_the_least_loaded_even_if_it_holds_most) {
  fleet_.record(std::string(5'000, 'q'), 1);
  for (Candidate& candidate : fleet_.candidates()) {
    candidate.in_flight = 3;
  }
  fleet_.candidates()[1].in_flight = 2;
  const Decision decision = fleet_.pick(kPrompt);
  EXPECT_EQ(decision.target, 1U);
  EXPECT_EQ(decision.reason, Reason::kBelowThreshold);
}

TEST_F(CacheAwareTest, of_equal_loads_a_miss_goes_to_the_least_warmed) {
  fleet_.record(std::string(300, 'a'), 0);
  fleet_.record(std::string(200, 'b'), 1);
  fleet_.record(std::string(100, 'c'), 2);
  fleet_.record(std::string(400, 'd'), 3);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(fleet_.pick(kPrompt).target, 2U);
  }
}

TEST_F(CacheAwareTest, of_equal_loads_and_warmth_a_miss_goes_anywhere) {
  std::vector<std::size_t> counts(4);
  for (int i = 0; i < 100'000; ++i) {
    ++counts[fleet_.pick(kPrompt).target];
  }
  for (const std::size_t count : counts) {
    EXPECT_NEAR(static_cast<double>(count), 25'000.0, 1'000.0);
  }
}

TEST_F(CacheAwareTest, an_empty_prompt_goes_to_the_least_loaded) {
  for (Candidate& candidate : fleet_.candidates()) {
    candidate.in_flight = 1;
  }
  fleet_.candidates()[3].in_flight = 0;
  const Decision decision = fleet_.pick("");
  EXPECT_EQ(decision.target, 3U);
  EXPECT_EQ(decision.reason, Reason::kNoPrompt);
}

TEST_F(CacheAwareTest, a_target_in_slow_start_takes_no_more_than_its_share_of_misses) {
  fleet_.candidates()[1].ramp = 0.25;
  for (const std::size_t warm : {0, 2, 3}) {
    fleet_.record("warm " + std::to_string(warm), warm);
  }
  std::size_t taken = 0;
  for (int i = 0; i < 10'000; ++i) {
    taken += fleet_.pick(kPrompt).target == 1 ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(taken), 2'500.0, 150.0);
}

TEST_F(CacheAwareTest, slow_start_does_not_keep_a_target_from_its_own_prompts) {
  fleet_.candidates()[1].ramp = 0.0;
  fleet_.record(kPrompt, 1);
  EXPECT_EQ(fleet_.pick(kPrompt).target, 1U);
}

TEST_F(CacheAwareTest, targets_that_are_all_in_slow_start_are_taken_all_the_same) {
  for (Candidate& candidate : fleet_.candidates()) {
    candidate.ramp = 0.0;
  }
  EXPECT_LT(fleet_.pick(kPrompt).target, 4U);
}

TEST_F(CacheAwareTest, a_record_that_is_dropped_leaves_nothing_and_one_that_is_kept_stays) {
  const PickInput in = input_for(fleet_.candidates(), kPrompt);
  {
    const Record dropped = strategy_.record(in, fleet_.candidates()[2]);
  }
  EXPECT_EQ(fleet_.pick(kPrompt).matched, 0.0);
  Record kept = strategy_.record(in, fleet_.candidates()[2]);
  EXPECT_EQ(fleet_.pick(kPrompt).target, 2U) << "at once, so that a burst finds it";
  Record moved = std::move(kept);
  moved.keep(TimePoint{});
  EXPECT_EQ(fleet_.pick(kPrompt).target, 2U);
}

TEST_F(CacheAwareTest, a_long_answer_to_a_short_question_counts_as_held) {
  const std::string question = "short";
  const std::string answer(500, 'a');
  Record record =
      strategy_.record(input_for(fleet_.candidates(), question), fleet_.candidates()[2]);
  record.keep(TimePoint{});
  EXPECT_EQ(fleet_.pick(question + answer + "next").reason, Reason::kBelowThreshold);
  record.reply(answer);
  record.end(TimePoint{});
  EXPECT_EQ(fleet_.pick(question + answer + "next").target, 2U);
  EXPECT_EQ(fleet_.pick(question + answer + "next").reason, Reason::kPrefix);
}

TEST_F(CacheAwareTest, an_answer_that_came_to_nothing_is_not_held) {
  Record record = strategy_.record(input_for(fleet_.candidates(), "q"), fleet_.candidates()[2]);
  record.reply("answer");
  record.end(TimePoint{});
  EXPECT_EQ(fleet_.pick("qanswer").matched, 0.0);
}

TEST_F(CacheAwareTest, picking_does_not_change_what_is_picked_next) {
  fleet_.record(kPrompt, 2);
  const kvcache::PrefixTreeStats before = tree_->stats();
  std::vector<Score> scores;
  Rng rng(1);
  (void)strategy_.pick(input_for(fleet_.candidates(), kPrompt), rng, &scores);
  EXPECT_EQ(tree_->stats().prompts, before.prompts);
  EXPECT_EQ(tree_->stats().index_bytes, before.index_bytes);
}

TEST_F(CacheAwareTest, explain_shows_every_eligible_target) {
  fleet_.record(kPrompt, 2);
  fleet_.record(kPrompt.substr(0, 30), 0);
  fleet_.candidates()[0].in_flight = 7;
  std::vector<Score> scores;
  Rng rng(1);
  (void)strategy_.pick(input_for(fleet_.candidates(), kPrompt), rng, &scores);
  ASSERT_EQ(scores.size(), 4U);
  EXPECT_DOUBLE_EQ(scores[0].matched, 0.3);
  EXPECT_DOUBLE_EQ(scores[1].matched, 0.0);
  EXPECT_DOUBLE_EQ(scores[2].matched, 1.0);
  EXPECT_EQ(scores[0].parts[1].second, 7.0);
}

TEST_F(CacheAwareTest, the_only_eligible_target_is_taken_and_its_match_reported) {
  fleet_.record(kPrompt, 0);
  fleet_.candidates().resize(1);
  fleet_.candidates()[0].in_flight = 100;
  const Decision decision = fleet_.pick(kPrompt);
  EXPECT_EQ(decision.reason, Reason::kOnlyOne);
  EXPECT_EQ(decision.matched, 1.0);
}

TEST_F(CacheAwareTest, targets_that_serve_different_models_do_not_share_prompts) {
  const auto other = std::make_shared<kvcache::PrefixTree>(kvcache::PrefixTreeLimits{});
  CacheAware strategy(CacheAwareSettings{}, RoutePrefixes({tree_, other, tree_, other}));
  Fleet fleet(strategy, 4);
  // Target 1 is the same provider as target 0, under another model.
  fleet.candidates()[1].replica = fleet.candidates()[0].replica;
  fleet.record(kPrompt, 1);
  fleet.record(kPrompt.substr(0, 60), 2);
  EXPECT_EQ(fleet.pick(kPrompt).target, 1U);
  EXPECT_EQ(tree_->held_bytes(ReplicaSlot{0}), 0U);
  EXPECT_EQ(other->held_bytes(ReplicaSlot{0}), kPrompt.size());
}

}  // namespace
}  // namespace rolter::balance
