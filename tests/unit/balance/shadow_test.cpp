#include "rolter/balance/shadow.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rolter/balance/strategies.h"
#include "rolter/cluster/replica_registry.h"
#include "rolter/config/names.h"
#include "tests/unit/balance/fleet.h"

namespace rolter::balance {
namespace {

using config::StrategyKind;

class ShadowTest : public ::testing::Test {
 protected:
  ShadowTest() {
    config::Route& route = config_.routes.emplace_back();
    route.model = "m";
    route.strategy = StrategyKind::kCacheAware;
    for (std::size_t i = 0; i < kTargets; ++i) {
      config_.providers.emplace_back().name = "r" + std::to_string(i);
      route.targets.push_back({.provider = i, .model = "m"});
    }
    view_ = registry_.apply(config_, TimePoint{}).view;
    real_trees_.apply(prefix_tree_demands(config_));
  }

  std::unique_ptr<Shadow> make(StrategyKind kind, const Strategy* before = nullptr) {
    return std::make_unique<Shadow>(Shadow::Parts{.route = config_.routes[0],
                                                  .kind = kind,
                                                  .targets = view_->routes[0].targets,
                                                  .real_trees = real_trees_,
                                                  .memory = memory_,
                                                  .before = before});
  }

  Shadow::Ride ride(Shadow& shadow, std::string_view text, std::size_t real_target = 0) {
    return {shadow, input_for(targets_, text), real_target};
  }

  void serve(Shadow& shadow, std::string_view text, std::size_t real_target = 0) {
    Shadow::Ride one = ride(shadow, text, real_target);
    one.keep(TimePoint{});
    one.end(PromptUsage{.prompt_tokens = 100, .cached_tokens = 0}, TimePoint{});
  }

  static constexpr std::size_t kTargets = 2;
  config::Config config_;
  cluster::ReplicaRegistry registry_;
  std::shared_ptr<const cluster::ClusterView> view_;
  kvcache::PrefixTrees real_trees_;
  std::shared_ptr<ShadowMemory> memory_ = std::make_shared<ShadowMemory>();
  std::vector<Candidate> targets_ = idle_targets(kTargets);
};

TEST_F(ShadowTest, expects_what_its_own_choices_would_have_left_behind) {
  const auto shadow = make(StrategyKind::kCacheAware);
  serve(*shadow, kPrompt);
  EXPECT_EQ(shadow->figures().cached_tokens, 0U);
  serve(*shadow, kPrompt);
  EXPECT_EQ(shadow->figures().cached_tokens, 100U);
  EXPECT_EQ(shadow->figures().prompt_tokens, 200U);
  EXPECT_EQ(shadow->figures().requests, 2U);
}

TEST_F(ShadowTest, balances_its_own_load_and_not_the_real_one) {
  const auto shadow = make(StrategyKind::kLeastLoad);
  targets_[1].in_flight = 50;  // as the real strategy has it
  std::vector<Shadow::Ride> rides;
  for (int i = 0; i < 10; ++i) {
    rides.push_back(ride(*shadow, "x", 0));
  }
  for (Shadow::Ride& one : rides) {
    one.keep(TimePoint{});
    one.end(std::nullopt, TimePoint{});
  }
  EXPECT_EQ(shadow->figures().same_target, 5U);
  EXPECT_EQ(shadow->figures().prompt_tokens, 0U) << "no usage is known";
}

TEST_F(ShadowTest, a_request_that_came_to_nothing_never_was) {
  const auto shadow = make(StrategyKind::kCacheAware);
  {
    const Shadow::Ride dropped = ride(*shadow, kPrompt);
  }
  serve(*shadow, kPrompt);
  EXPECT_EQ(shadow->figures().requests, 1U);
  EXPECT_EQ(shadow->figures().cached_tokens, 0U);
}

TEST_F(ShadowTest, leaves_the_real_trees_alone_but_takes_what_they_have_learned) {
  const auto shadow = make(StrategyKind::kCacheAware);
  const auto real = real_trees_.find("m");
  const auto serve_all = [&] {
    const std::uint64_t before = shadow->figures().cached_tokens;
    for (int i = 0; i < 100; ++i) {
      serve(*shadow, std::to_string(1'000 + i) + std::string(996, 'x'));
    }
    return shadow->figures().cached_tokens - before;
  };
  EXPECT_EQ(serve_all(), 0U);
  EXPECT_EQ(serve_all(), 10'000U);
  EXPECT_EQ(real->stats().prompts, 0U);
  for (std::uint32_t slot = 0; slot < kTargets; ++slot) {
    real->believe(ReplicaSlot{slot}, 2'000);
  }
  EXPECT_LT(serve_all(), 1'000U) << "two prompts fit";
}

TEST_F(ShadowTest, remembers_over_a_reload_and_forgets_a_replica_that_lost_its_cache) {
  auto shadow = make(StrategyKind::kCacheAware);
  serve(*shadow, kPrompt);
  shadow = make(StrategyKind::kCacheAware, &shadow->strategy());
  serve(*shadow, kPrompt);
  EXPECT_EQ(shadow->figures().cached_tokens, 100U);
  for (std::uint32_t slot = 0; slot < kTargets; ++slot) {
    shadow->forget(ReplicaSlot{slot});
  }
  serve(*shadow, kPrompt);
  EXPECT_EQ(shadow->figures().cached_tokens, 100U);
}

TEST_F(ShadowTest, every_strategy_can_be_one) {
  for (const auto& [name, kind] : config::kStrategies) {
    memory_ = std::make_shared<ShadowMemory>();
    const auto shadow = make(kind);
    serve(*shadow, kPrompt);
    EXPECT_EQ(shadow->figures().requests, 1U) << name;
  }
}

}  // namespace
}  // namespace rolter::balance
