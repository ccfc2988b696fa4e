#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>

#include "rolter/cli/demo_run.h"
#include "rolter/cli/demo_workload.h"

namespace rolter::cli {
namespace {

DemoOptions small_demo() {
  DemoOptions options;
  options.replicas = 2;
  options.users = 12;
  options.seconds = 3;
  return options;
}

StrategyReport play(const std::string& strategy, const DemoWorkload& workload) {
  Interrupts interrupts;
  const auto report = run_strategy(strategy, small_demo(), workload, interrupts);
  EXPECT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->has_value());
  return **report;
}

TEST(Demo, affinity_hits_more_than_rotation_and_nothing_fails) {
  auto workload = make_demo_workload(small_demo());
  ASSERT_TRUE(workload);
  workload->warm_up_s = 1;
  workload->engine.limits.blocks = 1'500;
  const StrategyReport rotation = play("round_robin", *workload);
  const StrategyReport affinity = play("cache_aware", *workload);
  for (const StrategyReport& report : {rotation, affinity}) {
    EXPECT_GT(report.requests, 10U) << report.strategy;
    EXPECT_EQ(report.errors + report.refused, 0U) << report.strategy;
    EXPECT_EQ(report.first_token_s.size(), report.requests);
    ASSERT_EQ(report.targets.size(), 2U);
    EXPECT_EQ(report.targets[0].target, "replica-1/sim-model");
    EXPECT_GT(report.targets[1].requests, 0U);
  }
  EXPECT_GT(affinity.token_hit_rate, rotation.token_hit_rate + 0.05);
}

TEST(Demo, an_interrupt_ends_it_at_once) {
  auto workload = make_demo_workload(small_demo());
  ASSERT_TRUE(workload);
  Interrupts interrupts;
  ::kill(::getpid(), SIGINT);
  const auto begun = std::chrono::steady_clock::now();
  const auto report = run_strategy("cache_aware", small_demo(), *workload, interrupts);
  ASSERT_TRUE(report);
  EXPECT_FALSE(report->has_value());
  EXPECT_TRUE(interrupts.interrupted());
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(2));
}

TEST(Demo, a_trace_that_is_not_there_is_named) {
  DemoOptions options = small_demo();
  options.trace = "/nowhere/trace.jsonl.gz";
  const auto workload = make_demo_workload(options);
  ASSERT_FALSE(workload);
  EXPECT_NE(workload.error().message.find("/nowhere/trace.jsonl.gz"), std::string::npos);
}

}  // namespace
}  // namespace rolter::cli
