#include "rolter/balance/strategies.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "rolter/balance/predicted_ttft.h"
#include "tests/unit/balance/fleet.h"

namespace rolter::balance {
namespace {

using config::StrategyKind;

config::Route route_with(StrategyKind strategy, std::vector<std::string> models) {
  config::Route route;
  route.strategy = strategy;
  for (const std::string& model : models) {
    config::RouteTarget target;
    target.model = model;
    route.targets.push_back(target);
  }
  return route;
}

/// What cluster makes of the route's targets, as far as a strategy looks at it.
std::vector<cluster::RouteTarget> targets_of(const config::Route& route) {
  std::vector<cluster::RouteTarget> targets;
  for (const config::RouteTarget& from : route.targets) {
    cluster::RouteTarget target;
    target.model = from.model;
    target.label = "provider-" + std::to_string(targets.size()) + "/" + from.model;
    targets.push_back(target);
  }
  return targets;
}

class StrategiesTest : public ::testing::Test {
 protected:
  std::unique_ptr<Strategy> make(const config::Route& route) {
    const std::vector<cluster::RouteTarget> targets = targets_of(route);
    return make_strategy({.route = route,
                          .targets = targets,
                          .trees = trees_,
                          .sessions = sessions_,
                          .residency = std::make_shared<kvcache::Residency>()});
  }

  void apply(const config::Config& config) {
    trees_.apply(prefix_tree_demands(config));
    sessions_.apply(session_table_demands(config));
  }

  kvcache::PrefixTrees trees_;
  SessionTables sessions_;
};

TEST_F(StrategiesTest, each_kind_decides_in_its_own_way) {
  struct Expected {
    StrategyKind kind;
    Reason reason;
  };
  constexpr auto kExpected = std::to_array<Expected>({
      {StrategyKind::kCacheAware, Reason::kBelowThreshold},
      {StrategyKind::kPipeline, Reason::kScore},
      {StrategyKind::kPreciseCacheAware, Reason::kNoCredit},
      {StrategyKind::kLmcacheAware, Reason::kNoCredit},
      {StrategyKind::kPredictedTtft, Reason::kPredicted},
      {StrategyKind::kRoundRobin, Reason::kRoundRobin},
      {StrategyKind::kRandom, Reason::kRandom},
      {StrategyKind::kLeastLoad, Reason::kLeastLoad},
      {StrategyKind::kWeighted, Reason::kWeighted},
      {StrategyKind::kPowerOfTwo, Reason::kLeastLoad},
      {StrategyKind::kConsistentHash, Reason::kHash},
  });
  for (const auto& [kind, reason] : kExpected) {
    config::Config config;
    config.routes.push_back(route_with(kind, {"m", "m"}));
    apply(config);
    const std::unique_ptr<Strategy> strategy = make(config.routes.front());
    ASSERT_NE(strategy, nullptr);
    Fleet fleet(*strategy, 2);
    EXPECT_EQ(fleet.pick("some prompt").reason, reason);
  }
}

TEST_F(StrategiesTest, what_predicted_ttft_has_learned_of_tokens_outlives_a_reload) {
  config::Config config;
  config.routes.push_back(route_with(StrategyKind::kPredictedTtft, {"m", "m"}));
  apply(config);
  const std::vector<cluster::RouteTarget> targets = targets_of(config.routes.front());
  StrategyParts parts{.route = config.routes.front(),
                      .targets = targets,
                      .trees = trees_,
                      .sessions = sessions_,
                      .residency = std::make_shared<kvcache::Residency>()};
  const std::unique_ptr<Strategy> before = make_strategy(parts);
  dynamic_cast<const PredictedTtft&>(*before).token_size()->observe(600, 200);
  parts.before = before.get();
  const std::unique_ptr<Strategy> after = make_strategy(parts);
  EXPECT_EQ(dynamic_cast<const PredictedTtft&>(*after).token_size()->bytes(), 3.0);
}

TEST_F(StrategiesTest, only_strategies_that_use_a_tree_ask_for_one) {
  config::Config config;
  config.routes.push_back(route_with(StrategyKind::kCacheAware, {"a", "b", "a"}));
  config.routes.push_back(route_with(StrategyKind::kRoundRobin, {"c"}));
  apply(config);
  EXPECT_NE(trees_.find("a"), nullptr);
  EXPECT_NE(trees_.find("b"), nullptr);
  EXPECT_EQ(trees_.find("c"), nullptr);
}

TEST_F(StrategiesTest, a_route_s_settings_reach_its_strategy) {
  config::Config config;
  config.routes.push_back(route_with(StrategyKind::kCacheAware, {"m", "m"}));
  config::Route& route = config.routes.front();
  route.threshold = 0.9;
  route.overload_abs = 10;
  route.min_match_bytes = 5;
  apply(config);
  const std::unique_ptr<Strategy> strategy = make(route);
  Fleet fleet(*strategy, 2);
  fleet.record("0123456789", 0);
  EXPECT_EQ(fleet.pick("012345678x").reason, Reason::kPrefix);
  EXPECT_EQ(fleet.pick("01234567xx").reason, Reason::kBelowThreshold);
  EXPECT_EQ(fleet.pick("0123").reason, Reason::kBelowThreshold);
  fleet.candidates()[0].in_flight = 10;
  EXPECT_EQ(fleet.pick("0123456789").reason, Reason::kPrefix);
  fleet.candidates()[0].in_flight = 11;
  EXPECT_EQ(fleet.pick("0123456789").reason, Reason::kOverloaded);
}

TEST_F(StrategiesTest, routes_to_one_model_learn_from_each_other_and_a_reload_forgets_nothing) {
  config::Config config;
  config.routes.push_back(route_with(StrategyKind::kCacheAware, {"m", "m"}));
  apply(config);
  std::unique_ptr<Strategy> before = make(config.routes.front());
  Fleet(*before, 2).record("a prompt", 1);

  config.routes.push_back(route_with(StrategyKind::kCacheAware, {"m", "m"}));
  apply(config);
  const std::unique_ptr<Strategy> after = make(config.routes.back());
  before.reset();
  EXPECT_EQ(Fleet(*after, 2).pick("a prompt").target, 1U);
  EXPECT_EQ(Fleet(*after, 2).pick("a prompt").reason, Reason::kPrefix);
}

TEST_F(StrategiesTest, a_reload_breaks_no_session) {
  config::Config config;
  config.routes.push_back(route_with(StrategyKind::kPipeline, {"m", "m", "m"}));
  apply(config);
  const std::unique_ptr<Strategy> before = make(config.routes.front());
  Fleet(*before, 3).record("x", 2, "a session");
  config.routes.front().overload_abs = 5;
  apply(config);
  const std::unique_ptr<Strategy> after = make(config.routes.front());
  EXPECT_EQ(Fleet(*after, 3).pick("y", "a session").target, 2U);
}

TEST_F(StrategiesTest, the_pipeline_s_weights_are_the_route_s) {
  config::Config config;
  config.routes.push_back(route_with(StrategyKind::kPipeline, {"m", "m"}));
  config.routes.front().weights = {.weight = 0.0, .prefix = 0.0, .load = 2.0};
  apply(config);
  const std::unique_ptr<Strategy> strategy = make(config.routes.front());
  const std::vector<Candidate> targets = idle_targets(2);
  Rng rng(1);
  std::vector<Score> scores;
  (void)strategy->pick(input_for(targets, "x"), rng, &scores);
  ASSERT_EQ(scores.size(), 2U);
  ASSERT_EQ(scores[0].parts.size(), 1U) << "a scorer that counts nothing is left out";
  EXPECT_EQ(scores[0].parts[0].first, "load");
  EXPECT_EQ(scores[0].total, 2.0);
}

}  // namespace
}  // namespace rolter::balance
