#include "rolter/balance/scorers.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "rolter/balance/load_scorer.h"
#include "rolter/balance/prefix_scorer.h"
#include "rolter/balance/weight_scorer.h"
#include "tests/unit/balance/fleet.h"

namespace rolter::balance {
namespace {

std::vector<double> scores_by(const Scorer& scorer, const std::vector<Candidate>& targets,
                              const std::vector<std::size_t>& matched = {},
                              std::string_view text = {}) {
  std::vector<double> scores(targets.size());
  const PickInput in = input_for(targets, text);
  scorer.score({.pick = in, .matched_bytes = matched}, scores);
  return scores;
}

TEST(WeightScorer, is_the_share_of_the_greatest_weight) {
  std::vector<Candidate> targets = idle_targets(3);
  targets[0].weight = 2.0;
  targets[1].weight = 4.0;
  EXPECT_EQ(scores_by(WeightScorer(), targets), (std::vector{0.5, 1.0, 0.25}));
}

TEST(LoadScorer, one_request_more_costs_an_eighth_on_a_quiet_fleet) {
  std::vector<Candidate> targets = idle_targets(3);
  targets[1].in_flight = 1;
  targets[2].in_flight = 8;
  EXPECT_EQ(scores_by(LoadScorer(), targets), (std::vector{1.0, 0.875, 0.0}));
}

TEST(LoadScorer, spans_the_range_on_a_busy_one) {
  std::vector<Candidate> targets = idle_targets(3);
  targets[0].in_flight = 100;
  targets[1].in_flight = 110;
  targets[2].in_flight = 120;
  EXPECT_EQ(scores_by(LoadScorer(), targets), (std::vector{1.0, 0.5, 0.0}));
}

TEST(PrefixScorer, is_the_matched_share_of_the_prompt) {
  const std::vector<Candidate> targets = idle_targets(3);
  EXPECT_EQ(scores_by(PrefixScorer(), targets, {0, 5, 20}, std::string(20, 'x')),
            (std::vector{0.0, 0.25, 1.0}));
  EXPECT_EQ(scores_by(PrefixScorer(), targets, {0, 0, 0}), (std::vector{0.0, 0.0, 0.0}));
}

}  // namespace
}  // namespace rolter::balance
