#include "rolter/admin/traffic.h"

#include <gtest/gtest.h>

#include <chrono>

#include "rolter/proxy/state_builder.h"

namespace rolter::admin {
namespace {

using namespace std::chrono_literals;

class TrafficTest : public ::testing::Test {
 protected:
  TrafficTest() {
    config::Config config;
    for (const char* name : {"a", "b"}) {
      config::Provider& provider = config.providers.emplace_back();
      provider.name = name;
      provider.api_base.host = "127.0.0.1";
    }
    config::Route& route = config.routes.emplace_back();
    route.model = "m";
    route.targets = {{.provider = 0, .model = "x"}, {.provider = 1, .model = "x"}};
    state_ = builder_.build(std::move(config), {.server = {}, .clients = {{}, {}}}, now_).state;
  }
  telemetry::TargetCounters& counters(std::size_t target) {
    return state_->metrics->routes[0].targets[target]->on(0);
  }
  void serve(std::size_t target, int requests, double ttft_ms) {
    for (int i = 0; i < requests; ++i) {
      counters(target).answered(200);
      counters(target).ttft_ms.observe(ttft_ms);
      counters(target).prompt_tokens.add(100);
      counters(target).cached_tokens.add(25);
    }
  }
  void second_passes() {
    now_ += 1s;
    traffic_.sample(*state_, now_);
  }

  telemetry::MetricsRegistry metrics_{1, {}, {}};
  proxy::StateBuilder builder_{metrics_, 1};
  TimePoint now_{};
  std::shared_ptr<const proxy::GatewayState> state_;
  Traffic traffic_;
};

TEST_F(TrafficTest, totals_are_those_of_the_counters) {
  serve(0, 3, 10);
  serve(1, 4, 10);
  counters(1).errors[2].add();
  state_->metrics->unknown_route.no_target->on(0).answered(404);
  second_passes();
  EXPECT_EQ(traffic_.fleet().requests, 8);
  EXPECT_EQ(traffic_.provider("a").requests, 3);
  EXPECT_EQ(traffic_.provider("b").requests, 4);
  EXPECT_EQ(traffic_.provider("b").errors, 1);
  EXPECT_EQ(traffic_.provider("nobody").requests, 0);
}

TEST_F(TrafficTest, the_rate_is_that_of_the_last_ten_seconds) {
  second_passes();
  serve(0, 1000, 10);
  for (int i = 0; i < 10; ++i) {
    second_passes();
  }
  EXPECT_DOUBLE_EQ(traffic_.fleet_pace().requests_per_s, 100.0);
  second_passes();
  EXPECT_DOUBLE_EQ(traffic_.fleet_pace().requests_per_s, 0.0);
}

TEST_F(TrafficTest, first_tokens_and_hits_count_for_a_minute) {
  second_passes();
  EXPECT_FALSE(traffic_.fleet_pace().ttft_p50_ms);
  EXPECT_FALSE(traffic_.fleet_pace().token_hit_rate);
  serve(0, 10, 150);
  for (int i = 0; i < 60; ++i) {
    second_passes();
    ASSERT_TRUE(traffic_.provider_pace("a").ttft_p50_ms);
  }
  EXPECT_DOUBLE_EQ(*traffic_.provider_pace("a").ttft_p50_ms, 150.0);
  EXPECT_DOUBLE_EQ(*traffic_.provider_pace("a").token_hit_rate, 0.25);
  second_passes();
  EXPECT_FALSE(traffic_.provider_pace("a").ttft_p50_ms);
  EXPECT_EQ(traffic_.history().size(), Traffic::kSamples - 1);
}

TEST(Quantile, is_interpolated_within_its_bucket) {
  std::array<std::uint64_t, telemetry::TimeHistogram::kBuckets> counts{};
  EXPECT_FALSE(quantile(counts, 0.5));
  counts[6] = 4;  // over 50 to 100 ms
  EXPECT_DOUBLE_EQ(*quantile(counts, 0.5), 75.0);
  counts[counts.size() - 1] = 100;  // beyond the last bound
  EXPECT_DOUBLE_EQ(*quantile(counts, 0.9), telemetry::kTimeBounds.back());
}

TEST(Figures, that_began_anew_count_from_zero) {
  Figures before;
  before.requests = 10;
  Figures after;
  after.requests = 3;
  EXPECT_EQ(after.since(before).requests, 0);
}

}  // namespace
}  // namespace rolter::admin
