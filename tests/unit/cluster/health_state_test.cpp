#include "rolter/cluster/health_state.h"

#include <gtest/gtest.h>

#include <chrono>

namespace rolter::cluster {
namespace {

using namespace std::chrono_literals;
using Change = HealthState::Change;

const config::Health kDefaults{};

HealthState down() {
  HealthState health(kDefaults);
  EXPECT_EQ(health.record(ProbeResult::kFailed), Change::kNone);
  EXPECT_EQ(health.record(ProbeResult::kTimedOut), Change::kNone);
  EXPECT_EQ(health.record(ProbeResult::kRefused), Change::kWentDown);
  return health;
}

TEST(HealthState, is_up_until_proven_otherwise) {
  EXPECT_TRUE(HealthState(kDefaults).up());
}

TEST(HealthState, one_slow_or_failed_probe_takes_nothing_away) {
  HealthState health(kDefaults);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(health.record(ProbeResult::kTimedOut), Change::kNone);
    EXPECT_EQ(health.record(ProbeResult::kFailed), Change::kNone);
    EXPECT_EQ(health.record(ProbeResult::kPassed), Change::kNone);
    EXPECT_TRUE(health.up());
  }
}

TEST(HealthState, goes_down_once_at_its_threshold) {
  HealthState health = down();
  EXPECT_FALSE(health.up());
  EXPECT_EQ(health.record(ProbeResult::kRefused), Change::kNone) << "it is down already";
}

TEST(HealthState, comes_up_at_its_second_pass_in_a_row) {
  HealthState health = down();
  EXPECT_EQ(health.record(ProbeResult::kPassed), Change::kNone);
  EXPECT_EQ(health.record(ProbeResult::kFailed), Change::kNone);
  EXPECT_EQ(health.record(ProbeResult::kPassed), Change::kNone);
  EXPECT_FALSE(health.up());
  EXPECT_EQ(health.record(ProbeResult::kPassed), Change::kCameUp);
  EXPECT_TRUE(health.up());
}

TEST(HealthState, a_rejected_key_is_reported_but_is_not_down) {
  HealthState health(kDefaults);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(health.record(ProbeResult::kKeyRejected), Change::kNone);
  }
  EXPECT_TRUE(health.up());
  EXPECT_EQ(health.last(), ProbeResult::kKeyRejected);
}

TEST(HealthState, is_probed_every_second_while_down_or_suspected) {
  HealthState health(kDefaults);
  EXPECT_EQ(health.probe_interval(), Duration{10s});
  health.suspect();
  EXPECT_TRUE(health.up());
  EXPECT_EQ(health.probe_interval(), Duration{1s});
  EXPECT_EQ(down().probe_interval(), Duration{1s});
}

TEST(HealthState, a_shorter_interval_stays_as_short) {
  config::Health fast;
  fast.interval = 200ms;
  HealthState health(fast);
  health.suspect();
  EXPECT_EQ(health.probe_interval(), Duration{200ms});
}

TEST(HealthState, a_suspect_is_cleared_by_two_passes_that_follow) {
  HealthState health(kDefaults);
  EXPECT_EQ(health.record(ProbeResult::kPassed), Change::kNone);
  EXPECT_EQ(health.record(ProbeResult::kPassed), Change::kNone);
  health.suspect();
  EXPECT_EQ(health.record(ProbeResult::kPassed), Change::kNone)
      << "passes from before do not count";
  EXPECT_EQ(health.record(ProbeResult::kPassed), Change::kCleared);
  EXPECT_EQ(health.probe_interval(), Duration{10s});
}

TEST(HealthState, switching_probes_off_brings_it_up) {
  HealthState health = down();
  config::Health off;
  off.enabled = false;
  health.configure(off);
  EXPECT_TRUE(health.up());
  EXPECT_EQ(health.record(ProbeResult::kRefused), Change::kNone);
  health.suspect();
  EXPECT_FALSE(health.suspected()) << "no probe would ever clear it";
}

}  // namespace
}  // namespace rolter::cluster
