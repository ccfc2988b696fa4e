#include "rolter/balance/pipeline.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rolter/balance/scorers.h"
#include "tests/unit/balance/fleet.h"

namespace rolter::balance {
namespace {

using namespace std::chrono_literals;

class PipelineTest : public ::testing::Test {
 protected:
  Pipeline make(const config::RouteWeights& weights) {
    return Pipeline({.scorers = make_pipeline_scorers(weights),
                     .prefixes = RoutePrefixes(std::vector(4, tree_)),
                     .sessions = sessions_,
                     .overload = {}});
  }

  std::shared_ptr<kvcache::PrefixTree> tree_ =
      std::make_shared<kvcache::PrefixTree>(kvcache::PrefixTreeLimits{});
  std::shared_ptr<SessionTable> sessions_ =
      std::make_shared<SessionTable>(SessionLimits{.ttl = 60s});
  Pipeline strategy_ = make({});
  Fleet fleet_{strategy_, 4};
};

TEST_F(PipelineTest, all_else_equal_the_longest_prefix_wins) {
  fleet_.record(kPrompt.substr(0, 30), 1);
  fleet_.record(kPrompt.substr(0, 40), 2);
  const Decision decision = fleet_.pick(kPrompt);
  EXPECT_EQ(decision.target, 2U);
  EXPECT_EQ(decision.reason, Reason::kScore);
  EXPECT_DOUBLE_EQ(decision.matched, 0.4);
  EXPECT_EQ(decision.matched_units, 40U);
}

TEST_F(PipelineTest, weight_biases_to_the_larger_target) {
  fleet_.candidates()[3].weight = 2.0;
  EXPECT_EQ(fleet_.pick(kPrompt).target, 3U);
}

TEST_F(PipelineTest, a_queue_outweighs_a_prefix_when_it_is_long_enough) {
  fleet_.record(kPrompt.substr(0, 50), 1);  // worth 0.5
  fleet_.candidates()[1].in_flight = 3;     // costs 3/8
  EXPECT_EQ(fleet_.pick(kPrompt).target, 1U);
  fleet_.candidates()[1].in_flight = 5;  // costs 5/8
  EXPECT_NE(fleet_.pick(kPrompt).target, 1U);
}

TEST_F(PipelineTest, weights_of_the_route_decide_what_counts) {
  Pipeline load_only = make({.weight = 0.0, .prefix = 0.0, .load = 1.0});
  Fleet fleet(load_only, 4);
  fleet.record(kPrompt, 1);
  fleet.candidates()[1].in_flight = 1;
  fleet.candidates()[2].weight = 100.0;
  fleet.candidates()[2].in_flight = 1;
  for (int i = 0; i < 50; ++i) {
    const std::size_t target = fleet.pick(kPrompt).target;
    EXPECT_TRUE(target == 0 || target == 3);
  }
}

TEST_F(PipelineTest, ties_spread_evenly) {
  std::vector<std::size_t> counts(4);
  for (int i = 0; i < 100'000; ++i) {
    ++counts[fleet_.pick(kPrompt).target];
  }
  for (const std::size_t count : counts) {
    EXPECT_NEAR(static_cast<double>(count), 25'000.0, 1'000.0);
  }
}

TEST_F(PipelineTest, a_session_stays_where_it_was_served_last) {
  fleet_.record("something else", 2, "s");
  fleet_.record(kPrompt, 1);  // a better score elsewhere
  const Decision decision = fleet_.pick(kPrompt, "s");
  EXPECT_EQ(decision.target, 2U);
  EXPECT_EQ(decision.reason, Reason::kSession);
  EXPECT_EQ(fleet_.pick(kPrompt, "another").target, 1U);
}

TEST_F(PipelineTest, an_overloaded_replica_loses_its_session_to_the_one_that_serves) {
  fleet_.record(kPrompt, 2, "s");
  fleet_.candidates()[2].in_flight = 3;
  const std::size_t target = fleet_.send(kPrompt, "s");
  EXPECT_NE(target, 2U) << "its prefix would outweigh the queue: an overloaded pin is passed over";
  fleet_.finish_all();
  EXPECT_EQ(fleet_.pick(kPrompt, "s").target, target);
}

TEST_F(PipelineTest, an_ineligible_replica_loses_its_session_to_the_one_that_serves) {
  fleet_.record(kPrompt, 3, "s");
  const std::vector<Candidate> all = fleet_.candidates();
  fleet_.candidates().pop_back();
  const std::size_t target = fleet_.serve(kPrompt, "s");
  fleet_.candidates() = all;
  EXPECT_EQ(fleet_.pick(kPrompt, "s").target, target);
}

TEST_F(PipelineTest, a_session_is_forgotten_after_its_time) {
  fleet_.record("something else", 2, "s");
  fleet_.record(kPrompt, 1);
  Rng rng(1);
  PickInput in = input_for(fleet_.candidates(), kPrompt, "s");
  in.now += 59s;
  EXPECT_EQ(strategy_.pick(in, rng, nullptr).target, 2U);
  in.now += 1s;
  EXPECT_EQ(strategy_.pick(in, rng, nullptr).target, 1U);
}

TEST_F(PipelineTest, sessions_that_start_on_an_idle_fleet_spread) {
  std::vector<std::size_t> counts(4);
  for (int i = 0; i < 400; ++i) {
    ++counts[fleet_.serve("hello", "session " + std::to_string(i))];
    tree_->remove_replica(ReplicaSlot{0});  // as if each said something new
    tree_->remove_replica(ReplicaSlot{1});
    tree_->remove_replica(ReplicaSlot{2});
    tree_->remove_replica(ReplicaSlot{3});
  }
  EXPECT_LT(chi_square(counts), 16.27);
}

TEST_F(PipelineTest, a_forward_that_fails_undoes_prompt_and_session) {
  fleet_.record("something else", 2, "s");
  {
    const PickInput in = input_for(fleet_.candidates(), kPrompt, "s");
    const Record dropped = strategy_.record(in, fleet_.candidates()[1]);
    EXPECT_EQ(fleet_.pick(kPrompt, "s").target, 1U);
  }
  const Decision decision = fleet_.pick(kPrompt, "s");
  EXPECT_EQ(decision.target, 2U);
  EXPECT_EQ(tree_->held_bytes(ReplicaSlot{1}), 0U);
}

TEST_F(PipelineTest, a_target_in_slow_start_takes_no_more_than_its_share_of_misses) {
  for (Candidate& candidate : fleet_.candidates()) {
    candidate.in_flight = 4;
  }
  fleet_.candidates()[1].in_flight = 0;  // a miss would always go there
  fleet_.candidates()[1].ramp = 0.25;
  std::size_t taken = 0;
  for (int i = 0; i < 10'000; ++i) {
    taken += fleet_.pick(kPrompt).target == 1 ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(taken), 2'500.0, 150.0);
}

TEST_F(PipelineTest, explain_shows_each_opinion_and_the_sum) {
  fleet_.record(kPrompt.substr(0, 50), 1);
  fleet_.candidates()[1].in_flight = 2;
  fleet_.candidates()[2].weight = 2.0;
  std::vector<Score> scores;
  Rng rng(1);
  (void)strategy_.pick(input_for(fleet_.candidates(), kPrompt), rng, &scores);
  ASSERT_EQ(scores.size(), 4U);
  const std::vector<std::pair<std::string_view, double>> expected = {
      {"weight", 0.5}, {"load", 0.75}, {"prefix", 0.5}};
  EXPECT_EQ(scores[1].parts, expected);
  EXPECT_DOUBLE_EQ(scores[1].total, 1.75);
  EXPECT_DOUBLE_EQ(scores[1].matched, 0.5);
}

}  // namespace
}  // namespace rolter::balance
