// Every strategy in front of one sound and one faulty replica: who serves, what the client sees,
// and that no load is left behind.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>

#include "rolter/config/names.h"
#include "tests/fakes/faulty_replica.h"
#include "tests/integration/balance/gateway_fixture.h"

namespace rolter::runtime {
namespace {

using namespace std::chrono_literals;
using config::StrategyKind;
using fakes::FaultyReplica;
using fakes::RawAnswer;
using Manner = FaultyReplica::Manner;

class StrategyFaultsTest : public GatewayTest, public ::testing::WithParamInterface<StrategyKind> {
 protected:
  void start_both(config::Config config) {
    add_route(config, "m").strategy = GetParam();
    add_target(config, "sound", sound_.port());
    add_target(config, "faulty", faulty_.port());
    start(std::move(config));
  }

  /// The sound replica alone answers from now on.
  void expect_only_sound() {
    const std::size_t before = faulty_.requests();
    for (int i = 0; i < 8; ++i) {
      const RawAnswer answer = ask();
      EXPECT_EQ(answer.status, 200) << answer.body;
      EXPECT_EQ(answer.field("x-rolter-provider"), "sound");
    }
    EXPECT_EQ(faulty_.requests(), before);
    expect_no_load();
  }

  /// Asks until the faulty replica has had its chance; every answer is whole.
  void expect_no_error_until_faulty_was_asked() {
    for (int i = 0; i < 100 && faulty_.requests() == 0; ++i) {
      const RawAnswer answer = ask();
      EXPECT_EQ(answer.status, 200) << answer.body;
      EXPECT_EQ(answer.field("x-rolter-provider"), "sound");
    }
    EXPECT_GT(faulty_.requests(), 0U) << "the strategy never chose it";
  }

  cluster::Replica& faulty_replica() { return replica(1); }

  FaultyReplica sound_;
  FaultyReplica faulty_;
};

TEST_P(StrategyFaultsTest, an_unhealthy_target_gets_nothing) {
  faulty_.set_healthy(false);
  start_both(base_config());
  await([this] { return !faulty_replica().eligible(now()); });
  expect_only_sound();
}

TEST_P(StrategyFaultsTest, a_cooling_target_gets_nothing) {
  faulty_.behave(Manner::kServerError);
  config::Config config = base_config();
  config.cooldown.base = 60s;
  start_both(std::move(config));
  expect_no_error_until_faulty_was_asked();
  expect_only_sound();
}

TEST_P(StrategyFaultsTest, a_target_behind_an_open_breaker_gets_nothing) {
  faulty_.behave(Manner::kServerError);
  config::Config config = base_config();
  config.cooldown.base = 0ms;
  config.breaker.enabled = true;
  config.breaker.failure_threshold = 1;
  config.breaker.open = 60s;
  start_both(std::move(config));
  expect_no_error_until_faulty_was_asked();
  expect_only_sound();
}

TEST_P(StrategyFaultsTest, a_drained_target_gets_nothing) {
  start_both(base_config());
  faulty_replica().set_drained(true, now());
  expect_only_sound();
  faulty_replica().set_drained(false, now());
  replica(0).set_drained(true, now());
  EXPECT_EQ(ask().field("x-rolter-provider"), "faulty") << "back at once";
}

TEST_P(StrategyFaultsTest, a_target_that_a_reload_removes_gets_nothing) {
  start_both(base_config());
  config::Config without = base_config();
  add_route(without, "m").strategy = GetParam();
  add_target(without, "sound", sound_.port());
  ASSERT_TRUE(gateway_->reload(std::move(without)));
  expect_only_sound();
}

TEST_P(StrategyFaultsTest, a_target_that_asks_to_be_left_alone_is) {
  faulty_.behave(Manner::kRateLimited);
  config::Config config = base_config();
  config.cooldown.base = 0ms;
  start_both(std::move(config));
  expect_no_error_until_faulty_was_asked();
  expect_only_sound();
}

TEST_P(StrategyFaultsTest, a_target_that_refuses_connections_costs_no_error) {
  config::Config config = base_config();
  config.health.enabled = false;
  start_both(std::move(config));
  faulty_.refuse();
  for (int i = 0; i < 100 && faulty_replica().eligible(now()); ++i) {
    EXPECT_EQ(ask().status, 200);
  }
  EXPECT_FALSE(faulty_replica().eligible(now())) << "the strategy never chose it";
  expect_only_sound();
}

TEST_P(StrategyFaultsTest, a_target_that_stays_silent_is_left_for_the_other) {
  faulty_.behave(Manner::kHang);
  config::Config config = base_config();
  config.timeouts.request = 100ms;
  config.cooldown.base = 60s;
  start_both(std::move(config));
  expect_no_error_until_faulty_was_asked();
  expect_only_sound();
}

TEST_P(StrategyFaultsTest, a_stream_that_breaks_off_is_shown_as_broken_and_not_repeated) {
  faulty_.behave(Manner::kResetMidStream);
  config::Config config = base_config();
  config.cooldown.base = 60s;
  start_both(std::move(config));
  for (int i = 0; i < 100 && faulty_.requests() == 0; ++i) {
    const RawAnswer answer = ask("m", /*streamed=*/true);
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.complete, faulty_.requests() == 0);
  }
  EXPECT_EQ(faulty_.requests(), 1U) << "the strategy never chose it";
  EXPECT_EQ(sound_.requests() + 1, static_cast<std::size_t>(asked_));
  await([this] { return !faulty_replica().eligible(now()); });
  expect_only_sound();
}

INSTANTIATE_TEST_SUITE_P(EveryStrategy, StrategyFaultsTest,
                         ::testing::Values(StrategyKind::kCacheAware, StrategyKind::kPipeline,
                                           StrategyKind::kPreciseCacheAware,
                                           StrategyKind::kLmcacheAware, StrategyKind::kRoundRobin,
                                           StrategyKind::kRandom, StrategyKind::kLeastLoad,
                                           StrategyKind::kWeighted, StrategyKind::kPowerOfTwo,
                                           StrategyKind::kConsistentHash),
                         [](const auto& strategy) {
                           return std::string(config::to_string(strategy.param));
                         });

}  // namespace
}  // namespace rolter::runtime
