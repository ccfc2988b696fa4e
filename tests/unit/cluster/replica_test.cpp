#include "rolter/cluster/replica.h"
#include "tests/unit/cluster/start.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace rolter::cluster {
namespace {

using namespace std::chrono_literals;

ReplicaSettings with_breaker() {
  ReplicaSettings settings;
  settings.breaker = {.enabled = true, .failure_threshold = 3, .open = 30s};
  settings.cooldown.base = 0ms;
  return settings;
}

EngineGauges depth_of(double running) {
  return {.running = running, .waiting = 0.0, .kv_usage = {}};
}

/// A replica, and attempts at it that are sent and end when the test says so.
class ReplicaTest : public testing::Test {
 protected:
  Transition ended(Outcome outcome, TimePoint now, std::optional<Duration> retry_after = {}) {
    return replica_.attempt_ended(Report{.outcome = outcome, .retry_after = retry_after},
                                  TrialSlot::kNone, now, now);
  }

  Replica replica_{"gpu-1", ReplicaSlot{0}};
};

TEST_F(ReplicaTest, a_failure_cools_it_and_time_brings_it_back) {
  EXPECT_TRUE(replica_.eligible(kStart));
  EXPECT_EQ(ended(Outcome::kServerError, kStart).cooled_for, Duration{5s});
  EXPECT_FALSE(replica_.eligible(kStart + 4999ms));
  EXPECT_EQ(replica_.status(kStart + 1s).why_not, WhyNot::kCooling);
  EXPECT_EQ(replica_.status(kStart + 1s).cooling_left, Duration{4s});
  EXPECT_TRUE(replica_.eligible(kStart + 5s));
}

TEST_F(ReplicaTest, what_is_not_its_fault_changes_nothing) {
  for (const Outcome outcome :
       {Outcome::kClientFault, Outcome::kClientGone, Outcome::kRequestTimeout,
        Outcome::kKeyRejected, Outcome::kStaleConnection, Outcome::kAbandoned,
        Outcome::kQueueFull}) {
    for (int i = 0; i < 10; ++i) {
      EXPECT_FALSE(ended(outcome, kStart).any()) << to_string(outcome);
    }
    EXPECT_TRUE(replica_.eligible(kStart)) << to_string(outcome);
  }
}

TEST_F(ReplicaTest, rests_for_as_long_as_its_429_asks_and_counts_no_failure) {
  EXPECT_EQ(ended(Outcome::kRateLimited, kStart, Duration{30s}).cooled_for, Duration{30s});
  EXPECT_FALSE(replica_.eligible(kStart + 29s));
  EXPECT_TRUE(replica_.eligible(kStart + 30s));
  EXPECT_EQ(replica_.status(kStart).failures_in_a_row, 0U);
}

TEST_F(ReplicaTest, a_429_that_names_no_time_rests_for_the_base) {
  EXPECT_EQ(ended(Outcome::kRateLimited, kStart, Duration{1s}).cooled_for, Duration{1s});
  EXPECT_EQ(ended(Outcome::kRateLimited, kStart).cooled_for, Duration{5s});
  EXPECT_FALSE(replica_.eligible(kStart + 4s));
}

TEST_F(ReplicaTest, a_full_queue_rests_only_when_it_names_a_time) {
  EXPECT_FALSE(ended(Outcome::kQueueFull, kStart).any());
  EXPECT_EQ(ended(Outcome::kQueueFull, kStart, Duration{2s}).cooled_for, Duration{2s});
}

TEST_F(ReplicaTest, a_failure_with_retry_after_cools_for_the_longer_time) {
  EXPECT_EQ(ended(Outcome::kServerError, kStart, Duration{60s}).cooled_for, Duration{60s});
  EXPECT_FALSE(replica_.eligible(kStart + 59s));
}

TEST_F(ReplicaTest, an_attempt_that_may_not_cool_counts_but_does_not_park_it) {
  const Report report{.outcome = Outcome::kServerError, .may_cool = MayCool::kNo};
  EXPECT_FALSE(replica_.attempt_ended(report, TrialSlot::kNone, kStart, kStart).any());
  EXPECT_TRUE(replica_.eligible(kStart));
}

TEST_F(ReplicaTest, an_answer_to_something_sent_after_the_failure_ends_its_cooldown) {
  (void)ended(Outcome::kServerError, kStart);
  const Report served{.outcome = Outcome::kServed};
  EXPECT_FALSE(replica_.attempt_ended(served, TrialSlot::kNone, kStart - 10s, kStart + 1s).any())
      << "sent before it failed";
  EXPECT_FALSE(replica_.eligible(kStart + 2s));
  EXPECT_TRUE(replica_.attempt_ended(served, TrialSlot::kNone, kStart + 2s, kStart + 3s).recovered);
  EXPECT_TRUE(replica_.eligible(kStart + 3s));
}

TEST_F(ReplicaTest, failures_that_alternate_with_answers_do_not_double) {
  TimePoint now = kStart;
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(ended(Outcome::kServerError, now).cooled_for, Duration{5s});
    now += 6s;
    (void)ended(Outcome::kServed, now);
  }
}

TEST_F(ReplicaTest, refused_connects_put_it_out_at_once_and_two_passes_bring_it_back) {
  (void)ended(Outcome::kConnectRefused, kStart);
  EXPECT_FALSE(replica_.eligible(kStart + 100ms));
  EXPECT_EQ(replica_.probe_interval(), Duration{1s});
  EXPECT_FALSE(replica_.probed(ProbeResult::kPassed, kStart + 1s).recovered);
  EXPECT_FALSE(replica_.eligible(kStart + 1s));
  EXPECT_TRUE(replica_.probed(ProbeResult::kPassed, kStart + 2s).recovered);
  EXPECT_TRUE(replica_.eligible(kStart + 2s));
}

TEST_F(ReplicaTest, passing_probes_do_not_end_what_errors_began) {
  (void)ended(Outcome::kServerError, kStart);
  for (int second = 1; second < 5; ++second) {
    (void)replica_.probed(ProbeResult::kPassed, kStart + std::chrono::seconds{second});
  }
  EXPECT_FALSE(replica_.eligible(kStart + 4s)) << "its /health was fine all along";
}

TEST_F(ReplicaTest, failing_probes_take_it_down_and_passing_ones_bring_it_up) {
  (void)replica_.probed(ProbeResult::kFailed, kStart);
  (void)replica_.probed(ProbeResult::kTimedOut, kStart);
  EXPECT_TRUE(replica_.eligible(kStart));
  EXPECT_TRUE(replica_.probed(ProbeResult::kFailed, kStart).went_down);
  EXPECT_FALSE(replica_.eligible(kStart + 1000h)) << "until probes say otherwise";
  EXPECT_EQ(replica_.status(kStart).why_not, WhyNot::kDown);
  (void)replica_.probed(ProbeResult::kPassed, kStart + 1s);
  EXPECT_TRUE(replica_.probed(ProbeResult::kPassed, kStart + 2s).came_up);
  EXPECT_TRUE(replica_.eligible(kStart + 2s));
}

TEST_F(ReplicaTest, coming_up_ends_the_cooldowns_of_the_outage) {
  TimePoint now = kStart;
  for (int i = 0; i < 30; ++i, now += 1s) {
    (void)replica_.probed(ProbeResult::kRefused, now);
    (void)ended(Outcome::kConnectRefused, now);
  }
  (void)replica_.probed(ProbeResult::kPassed, now + 1s);
  EXPECT_TRUE(replica_.probed(ProbeResult::kPassed, now + 2s).came_up);
  EXPECT_TRUE(replica_.eligible(now + 2s));
}

TEST_F(ReplicaTest, tells_since_when_nobody_listens) {
  EXPECT_FALSE(replica_.refused_since());
  (void)replica_.probed(ProbeResult::kRefused, kStart);
  (void)ended(Outcome::kConnectRefused, kStart + 3s);
  EXPECT_EQ(replica_.refused_since(), kStart);
  (void)replica_.probed(ProbeResult::kPassed, kStart + 5s);
  EXPECT_FALSE(replica_.refused_since());
}

TEST_F(ReplicaTest, a_timeout_or_an_unreachable_host_is_not_a_refusal) {
  (void)ended(Outcome::kConnectFailed, kStart);
  (void)ended(Outcome::kTimeout, kStart);
  (void)replica_.probed(ProbeResult::kTimedOut, kStart);
  EXPECT_FALSE(replica_.refused_since());
}

TEST_F(ReplicaTest, a_drained_one_stays_out_until_undone) {
  EXPECT_TRUE(replica_.set_drained(true, kStart));
  EXPECT_FALSE(replica_.set_drained(true, kStart));
  EXPECT_FALSE(replica_.eligible(kStart + 1000h));
  EXPECT_EQ(replica_.status(kStart).why_not, WhyNot::kDrained);
  (void)replica_.probed(ProbeResult::kPassed, kStart);
  EXPECT_FALSE(replica_.eligible(kStart));
  EXPECT_TRUE(replica_.set_drained(false, kStart));
  EXPECT_TRUE(replica_.eligible(kStart));
}

TEST(ReplicaBreaker, streams_that_die_after_their_head_open_it) {
  Replica replica("gpu-1", ReplicaSlot{0}, with_breaker());
  const Report broken{.outcome = Outcome::kBrokenStream};
  EXPECT_FALSE(replica.attempt_ended(broken, TrialSlot::kNone, kStart, kStart).any());
  EXPECT_FALSE(replica.attempt_ended(broken, TrialSlot::kNone, kStart, kStart).any());
  EXPECT_TRUE(replica.attempt_ended(broken, TrialSlot::kNone, kStart, kStart).breaker_opened);
  EXPECT_FALSE(replica.eligible(kStart + 29s));
  EXPECT_EQ(replica.status(kStart).why_not, WhyNot::kBreakerOpen);
}

TEST(ReplicaBreaker, client_faults_and_full_queues_neither_open_nor_calm_it) {
  Replica replica("gpu-1", ReplicaSlot{0}, with_breaker());
  const auto ended = [&](Outcome outcome) {
    return replica.attempt_ended(Report{.outcome = outcome}, TrialSlot::kNone, kStart, kStart);
  };
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(ended(Outcome::kClientFault).any());
    EXPECT_FALSE(ended(Outcome::kKeyRejected).any());
  }
  (void)ended(Outcome::kReset);
  (void)ended(Outcome::kReset);
  (void)ended(Outcome::kClientFault);
  (void)ended(Outcome::kQueueFull);
  EXPECT_TRUE(ended(Outcome::kReset).breaker_opened) << "still the third in a row";
}

TEST(ReplicaBreaker, offers_itself_to_one_trial_at_a_time) {
  Replica replica("gpu-1", ReplicaSlot{0}, with_breaker());
  EXPECT_EQ(replica.claim_trial(kStart), TrialSlot::kNone) << "closed: nothing to claim";
  for (int i = 0; i < 3; ++i) {
    (void)replica.attempt_ended(Report{.outcome = Outcome::kReset}, TrialSlot::kNone, kStart,
                                kStart);
  }
  EXPECT_FALSE(replica.claim_trial(kStart + 10s));
  EXPECT_TRUE(replica.eligible(kStart + 30s));
  const TrialSlot slot = replica.claim_trial(kStart + 30s).value();
  EXPECT_NE(slot, TrialSlot::kNone);
  EXPECT_FALSE(replica.eligible(kStart + 31s));
  EXPECT_EQ(replica.status(kStart + 31s).why_not, WhyNot::kTrialUnderWay);
  EXPECT_TRUE(
      replica.attempt_ended(Report{.outcome = Outcome::kServed}, slot, kStart + 30s, kStart + 32s)
          .breaker_closed);
  EXPECT_TRUE(replica.eligible(kStart + 32s));
  EXPECT_EQ(replica.claim_trial(kStart + 32s), TrialSlot::kNone);
}

TEST(ReplicaScrape, depth_is_what_was_scraped_plus_what_was_sent_since) {
  Replica replica("gpu-1", ReplicaSlot{0});
  std::atomic<std::uint32_t> load{0};
  EXPECT_FALSE(replica.queued(kStart)) << "never scraped is unknown, not idle";
  {
    const Lease before = Lease::acquire(replica, load, 0);
  }
  const std::uint32_t mark = replica.sent();
  const Lease during = Lease::acquire(replica, load, 0);
  replica.scraped(depth_of(7.0), mark, kStart);
  EXPECT_EQ(replica.queued(kStart), 8.0);
  const Lease after = Lease::acquire(replica, load, 0);
  EXPECT_EQ(replica.queued(kStart + 1s), 9.0);
}

TEST_F(ReplicaTest, a_port_that_refused_and_is_open_again_is_another_process) {
  EXPECT_FALSE(ended(Outcome::kConnectRefused, kStart).restarted);
  EXPECT_FALSE(replica_.probed(ProbeResult::kTimedOut, kStart + 1s).restarted);
  const Transition back = replica_.probed(ProbeResult::kPassed, kStart + 2s);
  EXPECT_TRUE(back.restarted);
  EXPECT_EQ(describe(back), "restarted");
  EXPECT_FALSE(replica_.probed(ProbeResult::kPassed, kStart + 3s).restarted) << "it was said";
}

TEST_F(ReplicaTest, a_request_may_be_the_first_to_find_it_back) {
  (void)ended(Outcome::kConnectRefused, kStart);
  EXPECT_TRUE(ended(Outcome::kServed, kStart + 1s).restarted);
  EXPECT_FALSE(ended(Outcome::kServed, kStart + 2s).restarted);
}

TEST_F(ReplicaTest, silence_and_errors_are_no_restart) {
  for (int i = 0; i < 3; ++i) {
    (void)replica_.probed(ProbeResult::kTimedOut, kStart);
  }
  (void)ended(Outcome::kServerError, kStart);
  EXPECT_FALSE(replica_.probed(ProbeResult::kPassed, kStart + 1s).restarted);
  EXPECT_FALSE(replica_.probed(ProbeResult::kPassed, kStart + 2s).restarted);
}

TEST_F(ReplicaTest, another_start_time_in_its_metrics_is_a_restart) {
  const auto scrape = [this](std::optional<double> started_at) {
    EngineGauges gauges = depth_of(0.0);
    gauges.started_at = started_at;
    return replica_.scraped(gauges, 0, kStart).restarted;
  };
  EXPECT_FALSE(scrape(1'796'024'093.3)) << "the first one tells nothing";
  EXPECT_FALSE(scrape(std::nullopt));
  EXPECT_FALSE(scrape(1'796'024'093.25)) << "rounding";
  EXPECT_TRUE(scrape(1'796'024'200.0));
  EXPECT_FALSE(scrape(1'796'024'200.0));
  (void)ended(Outcome::kConnectRefused, kStart);
  EXPECT_TRUE(ended(Outcome::kServed, kStart + 1s).restarted);
  EXPECT_FALSE(scrape(1'796'024'300.0)) << "that restart is known already";
}

TEST(ReplicaScrape, what_is_missing_or_old_is_unknown) {
  Replica replica("gpu-1", ReplicaSlot{0});
  replica.scraped({}, 0, kStart);
  EXPECT_FALSE(replica.queued(kStart));
  EXPECT_FALSE(replica.kv_usage(kStart));
  replica.scraped(depth_of(3.0), 0, kStart);
  EXPECT_FALSE(replica.kv_usage(kStart)) << "missing is not empty";
  replica.scraped({.running = 1.0, .waiting = 2.0, .kv_usage = 0.25}, 0, kStart);
  EXPECT_EQ(replica.queued(kStart + 15s), 3.0);
  EXPECT_EQ(replica.kv_usage(kStart + 15s), 0.25);
  EXPECT_FALSE(replica.queued(kStart + 16s));
  EXPECT_FALSE(replica.kv_usage(kStart + 16s));
}

TEST(ReplicaLmcache, what_its_server_says_is_good_for_a_while) {
  Replica replica("gpu-1", ReplicaSlot{0});
  EXPECT_FALSE(replica.lmcache(kStart));
  replica.lmcache_polled(LmcacheReading{.occupancy = 0.75, .available = true}, kStart, 10s);
  EXPECT_EQ(replica.lmcache(kStart + 10s), (LmcacheReading{.occupancy = 0.75, .available = true}));
  EXPECT_FALSE(replica.lmcache(kStart + 11s));
  replica.lmcache_polled(LmcacheReading{.occupancy = 0.1, .available = false}, kStart, 10s);
  EXPECT_FALSE(replica.lmcache(kStart)->available);
  replica.lmcache_polled(std::nullopt, kStart, 10s);
  EXPECT_FALSE(replica.lmcache(kStart)) << "an unusable answer takes the last one away";
}

TEST(ReplicaRamp, rises_from_a_little_to_all_within_slow_start) {
  Replica replica("gpu-1", ReplicaSlot{0});
  EXPECT_EQ(replica.ramp(kStart, 60s), 1.0) << "part of the fleet from the start";
  replica.starts_cold(kStart);
  EXPECT_EQ(replica.ramp(kStart, 0s), 1.0) << "switched off";
  EXPECT_EQ(replica.ramp(kStart, 60s), 0.05);
  EXPECT_EQ(replica.ramp(kStart + 30s, 60s), 0.5);
  EXPECT_EQ(replica.ramp(kStart + 60s, 60s), 1.0);
  EXPECT_EQ(replica.ramp(kStart + 600s, 60s), 1.0);
}

TEST(ReplicaRamp, starts_over_when_it_comes_back) {
  Replica replica("gpu-1", ReplicaSlot{0});
  for (int i = 0; i < 3; ++i) {
    (void)replica.probed(ProbeResult::kFailed, kStart);
  }
  (void)replica.probed(ProbeResult::kPassed, kStart);
  (void)replica.probed(ProbeResult::kPassed, kStart + 1s);
  EXPECT_EQ(replica.ramp(kStart + 1s, 60s), 0.05);
}

TEST(ReplicaSettings, switching_health_off_frees_a_replica_that_is_down) {
  Replica replica("gpu-1", ReplicaSlot{0});
  for (int i = 0; i < 3; ++i) {
    (void)replica.probed(ProbeResult::kFailed, kStart);
  }
  ReplicaSettings off;
  off.health.enabled = false;
  replica.configure(off);
  EXPECT_TRUE(replica.eligible(kStart));
}

TEST(ReplicaThreads, events_of_many_threads_leave_a_state_that_one_success_mends) {
  ReplicaSettings settings;
  settings.breaker = {.enabled = true, .failure_threshold = 2, .open = 0s};
  Replica replica("gpu-1", ReplicaSlot{0}, settings);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&replica, t] {
        for (int i = 0; i < 2000; ++i) {
          const TimePoint now = kStart + std::chrono::milliseconds{i};
          const std::optional<TrialSlot> slot = replica.claim_trial(now);
          const Outcome outcome = (i + t) % 3 == 0 ? Outcome::kReset : Outcome::kServed;
          (void)replica.attempt_ended(Report{.outcome = outcome}, slot.value_or(TrialSlot::kNone),
                                      now, now);
          (void)replica.eligible(now);
          (void)replica.queued(now);
          replica.scraped(depth_of(i), replica.sent(), now);
          if (i % 64 == 0) {
            (void)replica.probed(ProbeResult::kPassed, now);
            (void)replica.status(now);
          }
        }
      });
    }
  }
  const TimePoint later = kStart + 1h;
  const TrialSlot slot = replica.claim_trial(later).value();
  (void)replica.attempt_ended(Report{.outcome = Outcome::kServed}, slot, later, later);
  EXPECT_TRUE(replica.eligible(later));
  EXPECT_EQ(replica.status(later).failures_in_a_row, 0U);
  EXPECT_EQ(replica.claim_trial(later), TrialSlot::kNone);
}

}  // namespace
}  // namespace rolter::cluster
