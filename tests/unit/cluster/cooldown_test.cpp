#include "rolter/cluster/cooldown.h"
#include "tests/unit/cluster/start.h"

#include <gtest/gtest.h>

#include <chrono>

namespace rolter::cluster {
namespace {

using namespace std::chrono_literals;
using Cause = Cooldown::Cause;

constexpr config::Cooldown kDefaults{};
constexpr config::Cooldown kOff{.base = 0ms, .max = 300'000ms};

TEST(Cooldown, doubles_with_each_failure_in_a_row_up_to_the_maximum) {
  Cooldown cooldown(kDefaults);
  TimePoint now = kStart;
  for (const auto expected : {5s, 10s, 20s, 40s, 80s, 160s, 300s, 300s, 300s}) {
    EXPECT_EQ(cooldown.trip(Cause::kFailure, now), Duration{expected});
    EXPECT_EQ(cooldown.until(), now + expected);
    now = cooldown.until();
  }
}

TEST(Cooldown, failures_of_requests_that_were_under_way_are_one_failure) {
  Cooldown cooldown(kDefaults);
  EXPECT_TRUE(cooldown.trip(Cause::kFailure, kStart));
  for (int i = 0; i < 64; ++i) {
    EXPECT_FALSE(cooldown.trip(Cause::kFailure, kStart + 1s));
  }
  EXPECT_EQ(cooldown.until(), kStart + 5s);
  EXPECT_EQ(cooldown.trip(Cause::kFailure, kStart + 6s), Duration{10s});
}

TEST(Cooldown, starts_over_when_the_run_ends) {
  Cooldown cooldown(kDefaults);
  (void)cooldown.trip(Cause::kFailure, kStart);
  cooldown.end_run();
  EXPECT_EQ(cooldown.until(), kStart + 5s) << "the deadline stands";
  EXPECT_EQ(cooldown.trip(Cause::kFailure, kStart + 5s), Duration{5s});
}

TEST(Cooldown, the_later_deadline_wins) {
  Cooldown cooldown(kDefaults);
  EXPECT_EQ(cooldown.rest(Duration{1s}, kStart), Duration{1s});
  EXPECT_EQ(cooldown.rest(std::nullopt, kStart), Duration{5s}) << "a 429 that names no time";
  EXPECT_EQ(cooldown.rest(Duration{2s}, kStart), std::nullopt);
  EXPECT_EQ(cooldown.until(), kStart + 5s);
  EXPECT_EQ(cooldown.trip(Cause::kFailure, kStart + 1s), Duration{5s});
  EXPECT_EQ(cooldown.until(), kStart + 6s);
}

TEST(Cooldown, a_wish_is_clamped_and_adds_no_doubling) {
  Cooldown cooldown(kDefaults);
  EXPECT_EQ(cooldown.rest(Duration{1000h}, kStart), Duration{300s});
  EXPECT_EQ(cooldown.trip(Cause::kFailure, kStart + 300s), Duration{5s});
}

TEST(Cooldown, base_zero_switches_it_off_but_not_the_wish_of_a_replica) {
  Cooldown cooldown(kOff);
  EXPECT_EQ(cooldown.trip(Cause::kFailure, kStart), std::nullopt);
  EXPECT_LE(cooldown.until(), kStart);
  EXPECT_EQ(cooldown.rest(std::nullopt, kStart), std::nullopt);
  EXPECT_EQ(cooldown.rest(Duration{1h}, kStart), Duration{300s});
  EXPECT_EQ(cooldown.until(), kStart + 300s);
}

TEST(Cooldown, recovery_leaves_what_the_replica_asked_for) {
  Cooldown cooldown(kDefaults);
  (void)cooldown.trip(Cause::kFailure, kStart);
  (void)cooldown.rest(Duration{3s}, kStart);
  (void)cooldown.rest(Duration{20s}, kStart);
  cooldown.recover();
  EXPECT_EQ(cooldown.until(), kStart + 20s);
  EXPECT_FALSE(cooldown.needs_mending());
}

TEST(Cooldown, only_what_a_failed_connect_began_or_joined_is_ended_by_probes) {
  Cooldown cooldown(kDefaults);
  EXPECT_FALSE(cooldown.ended_by_probes());
  (void)cooldown.trip(Cause::kFailure, kStart);
  EXPECT_FALSE(cooldown.ended_by_probes());
  (void)cooldown.trip(Cause::kConnect, kStart + 1s);
  EXPECT_TRUE(cooldown.ended_by_probes());
}

TEST(Cooldown, without_a_maximum_a_day_is_the_limit) {
  Cooldown cooldown(config::Cooldown{.base = 5s, .max = 0s});
  TimePoint now = kStart;
  for (int i = 0; i < 60; ++i) {
    (void)cooldown.trip(Cause::kFailure, now);
    EXPECT_LE(cooldown.until() - now, 24h);
    now = cooldown.until();
  }
  EXPECT_EQ(cooldown.trip(Cause::kFailure, now), Duration{24h});
}

}  // namespace
}  // namespace rolter::cluster
