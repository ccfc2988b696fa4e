#include "rolter/cluster/attempt.h"
#include "tests/unit/cluster/start.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace rolter::cluster {
namespace {

using namespace std::chrono_literals;

RouteTarget target_with_cap(std::uint32_t cap, const ReplicaSettings& settings = {}) {
  RouteTarget target;
  target.replica = std::make_shared<Replica>("gpu-1", ReplicaSlot{0}, settings);
  target.load = std::make_shared<TargetLoad>();
  target.cap = cap;
  return target;
}

ReplicaSettings breaker_that_opens_at_once() {
  ReplicaSettings settings;
  settings.breaker = {.enabled = true, .failure_threshold = 1, .open = 30s};
  settings.cooldown.base = 0ms;
  return settings;
}

TEST(Attempt, counts_from_begin_to_finish) {
  const RouteTarget target = target_with_cap(0);
  Attempt attempt = Attempt::begin(target, Gate::kRespected, kStart);
  ASSERT_TRUE(attempt.holds());
  EXPECT_EQ(target.replica->in_flight(), 1U);
  EXPECT_EQ(target.load->in_flight, 1U);
  (void)attempt.finish(Report{.outcome = Outcome::kServed}, kStart);
  EXPECT_FALSE(attempt.holds());
  EXPECT_EQ(target.replica->in_flight(), 0U);
  EXPECT_EQ(target.load->in_flight, 0U);
}

TEST(Attempt, finishing_twice_ends_it_once) {
  const RouteTarget target = target_with_cap(0);
  Attempt attempt = Attempt::begin(target, Gate::kRespected, kStart);
  EXPECT_TRUE(attempt.finish(Report{.outcome = Outcome::kReset}, kStart).cooled_for);
  EXPECT_FALSE(attempt.finish(Report{.outcome = Outcome::kReset}, kStart + 10s).any());
  EXPECT_EQ(target.replica->in_flight(), 0U);
}

TEST(Attempt, dropped_or_overwritten_gives_its_counts_back) {
  const RouteTarget target = target_with_cap(0);
  {
    Attempt first = Attempt::begin(target, Gate::kRespected, kStart);
    Attempt moved = std::move(first);
    EXPECT_EQ(target.replica->in_flight(), 1U);
    moved = Attempt::begin(target, Gate::kRespected, kStart);
    EXPECT_EQ(target.replica->in_flight(), 1U);
  }
  EXPECT_EQ(target.replica->in_flight(), 0U);
  EXPECT_EQ(target.load->in_flight, 0U);
  EXPECT_TRUE(target.replica->eligible(kStart));
}

TEST(Attempt, is_not_begun_at_the_cap) {
  const RouteTarget target = target_with_cap(1);
  const Attempt held = Attempt::begin(target, Gate::kRespected, kStart);
  EXPECT_FALSE(Attempt::begin(target, Gate::kRespected, kStart).holds());
  EXPECT_FALSE(Attempt::begin(target, Gate::kFailOpen, kStart).holds());
  EXPECT_EQ(target.replica->in_flight(), 1U);
}

TEST(Attempt, a_trial_dropped_by_its_client_frees_the_breaker_for_the_next) {
  const RouteTarget target = target_with_cap(0, breaker_that_opens_at_once());
  Attempt first = Attempt::begin(target, Gate::kRespected, kStart);
  EXPECT_TRUE(first.finish(Report{.outcome = Outcome::kReset}, kStart).breaker_opened);
  const TimePoint later = kStart + 30s;
  {
    const Attempt trial = Attempt::begin(target, Gate::kRespected, later);
    ASSERT_TRUE(trial.holds());
    EXPECT_FALSE(Attempt::begin(target, Gate::kRespected, later).holds());
    EXPECT_EQ(target.replica->in_flight(), 1U) << "the refused one holds nothing";
  }
  Attempt next = Attempt::begin(target, Gate::kRespected, later);
  ASSERT_TRUE(next.holds());
  EXPECT_TRUE(next.finish(Report{.outcome = Outcome::kServed}, later + 1s).breaker_closed);
}

TEST(Attempt, failing_open_passes_an_open_breaker_without_deciding_it) {
  const RouteTarget target = target_with_cap(0, breaker_that_opens_at_once());
  Attempt first = Attempt::begin(target, Gate::kRespected, kStart);
  (void)first.finish(Report{.outcome = Outcome::kReset}, kStart);
  EXPECT_FALSE(Attempt::begin(target, Gate::kRespected, kStart).holds());
  Attempt forced = Attempt::begin(target, Gate::kFailOpen, kStart);
  ASSERT_TRUE(forced.holds());
  EXPECT_FALSE(forced.finish(Report{.outcome = Outcome::kServed}, kStart + 1s).breaker_closed);
  EXPECT_FALSE(target.replica->eligible(kStart + 2s));
}

TEST(Attempt, many_threads_never_pass_a_cap_and_all_counts_return_to_zero) {
  const RouteTarget target = target_with_cap(3);
  std::atomic<std::uint32_t> most{0};
  std::atomic<std::uint32_t> running{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 5000; ++i) {
          Attempt attempt = Attempt::begin(target, Gate::kRespected, kStart);
          if (!attempt.holds()) {
            continue;
          }
          const std::uint32_t now_running = running.fetch_add(1) + 1;
          std::uint32_t seen = most.load();
          while (seen < now_running && !most.compare_exchange_weak(seen, now_running)) {
          }
          running.fetch_sub(1);
          if (i % 2 == 0) {
            (void)attempt.finish(Report{.outcome = Outcome::kServed}, kStart);
          }
        }
      });
    }
  }
  EXPECT_GE(most.load(), 1U);
  EXPECT_LE(most.load(), 3U);
  EXPECT_EQ(target.replica->in_flight(), 0U);
  EXPECT_EQ(target.load->in_flight, 0U);
}

TEST(Attempt, many_threads_hold_a_half_open_breakers_slot_one_at_a_time) {
  const RouteTarget target = target_with_cap(0, breaker_that_opens_at_once());
  Attempt first = Attempt::begin(target, Gate::kRespected, kStart);
  (void)first.finish(Report{.outcome = Outcome::kReset}, kStart);
  const TimePoint later = kStart + 30s;
  std::atomic<int> holders{0};
  std::atomic<int> trials{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 3000; ++i) {
          const Attempt trial = Attempt::begin(target, Gate::kRespected, later);
          if (trial.holds()) {
            ASSERT_EQ(holders.fetch_add(1), 0);
            trials.fetch_add(1);
            holders.fetch_sub(1);
          }
        }
      });
    }
  }
  EXPECT_GT(trials.load(), 0);
  EXPECT_EQ(target.replica->in_flight(), 0U);
}

}  // namespace
}  // namespace rolter::cluster
