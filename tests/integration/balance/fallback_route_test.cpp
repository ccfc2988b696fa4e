#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/fakes/faulty_replica.h"
#include "tests/integration/balance/gateway_fixture.h"

namespace rolter::runtime {
namespace {

using namespace std::chrono_literals;
using fakes::FaultyReplica;
using fakes::RawAnswer;
using Manner = FaultyReplica::Manner;

/// "m" is served by `first`, failing that as "reserve" by `second`.
class FallbackRouteTest : public GatewayTest {
 protected:
  void start_both(config::Config config = base_config()) {
    add_route(config, "m").fallback = "reserve";
    add_target(config, "first", first_.port());
    add_route(config, "reserve");
    add_target(config, "second", second_.port());
    start(std::move(config));
  }

  void expect_answer_of(const std::string& provider) {
    const RawAnswer answer = ask();
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.field("x-rolter-provider"), provider);
    expect_no_load();
  }

  [[nodiscard]] double fallbacks() const {
    return metric(R"(rolter_fallbacks_total{route="m",cause="fallback_route"})");
  }

  FaultyReplica first_;
  FaultyReplica second_;
};

TEST_F(FallbackRouteTest, is_left_alone_while_the_route_has_a_target) {
  start_both();
  expect_answer_of("first");
  EXPECT_EQ(second_.requests(), 0U);
  EXPECT_EQ(fallbacks(), 0.0);
}

TEST_F(FallbackRouteTest, takes_over_when_every_target_refuses) {
  start_both();
  first_.refuse();
  expect_answer_of("second");
  expect_answer_of("second");
  EXPECT_EQ(fallbacks(), 2.0);
}

TEST_F(FallbackRouteTest, takes_over_when_every_target_is_unhealthy) {
  first_.set_healthy(false);
  start_both();
  await([this] { return !replica(0).eligible(now()); });
  expect_answer_of("second");
  EXPECT_EQ(first_.requests(), 0U) << "instead of failing open";
}

TEST_F(FallbackRouteTest, takes_over_when_every_target_is_drained) {
  start_both();
  replica(0).set_drained(true, now());
  expect_answer_of("second");
  replica(0).set_drained(false, now());
  expect_answer_of("first");
}

TEST_F(FallbackRouteTest, takes_over_from_a_target_that_answers_with_an_error) {
  first_.behave(Manner::kServerError);
  start_both();
  expect_answer_of("second");
}

TEST_F(FallbackRouteTest, is_not_for_answers_that_have_begun) {
  first_.behave(Manner::kResetMidStream);
  start_both();
  EXPECT_FALSE(ask("m", /*streamed=*/true).complete);
  EXPECT_EQ(second_.requests(), 0U);
}

TEST_F(FallbackRouteTest, when_it_is_out_as_well_its_error_is_the_answer) {
  config::Config config = base_config();
  config.retry.max_retries = 0;
  start_both(std::move(config));
  first_.refuse();
  second_.refuse();
  const RawAnswer answer = ask();
  EXPECT_EQ(answer.status, 503);
  EXPECT_NE(answer.field("Retry-After"), "");
  expect_no_load();
}

TEST_F(FallbackRouteTest, may_have_a_fallback_itself) {
  config::Config config = base_config();
  add_route(config, "m").fallback = "middle";
  add_target(config, "first", first_.port());
  FaultyReplica middle;
  add_route(config, "middle").fallback = "reserve";
  add_target(config, "middle", middle.port());
  add_route(config, "reserve");
  add_target(config, "second", second_.port());
  start(std::move(config));
  first_.refuse();
  middle.refuse();
  expect_answer_of("second");
}

}  // namespace
}  // namespace rolter::runtime
