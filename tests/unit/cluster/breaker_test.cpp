#include "rolter/cluster/breaker.h"
#include "tests/unit/cluster/start.h"

#include <gtest/gtest.h>

#include <chrono>

namespace rolter::cluster {
namespace {

using namespace std::chrono_literals;
using State = Breaker::State;

constexpr config::Breaker kOn{.enabled = true, .failure_threshold = 3, .open = 30s};

Breaker opened_at(TimePoint now) {
  Breaker breaker(kOn);
  EXPECT_FALSE(breaker.failed(TrialSlot::kNone, now));
  EXPECT_FALSE(breaker.failed(TrialSlot::kNone, now));
  EXPECT_TRUE(breaker.failed(TrialSlot::kNone, now));
  return breaker;
}

TEST(Breaker, opens_at_the_threshold_of_failures_in_a_row) {
  const Breaker breaker = opened_at(kStart);
  EXPECT_EQ(breaker.state(), State::kOpen);
  EXPECT_EQ(breaker.blocked_until(), kStart + 30s);
}

TEST(Breaker, a_success_between_starts_the_count_over) {
  Breaker breaker(kOn);
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(breaker.failed(TrialSlot::kNone, kStart));
    EXPECT_FALSE(breaker.failed(TrialSlot::kNone, kStart));
    EXPECT_FALSE(breaker.succeeded(TrialSlot::kNone));
  }
  EXPECT_EQ(breaker.state(), State::kClosed);
}

TEST(Breaker, never_opens_when_switched_off) {
  Breaker breaker(config::Breaker{});
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(breaker.failed(TrialSlot::kNone, kStart));
  }
  EXPECT_EQ(breaker.blocked_until(), TimePoint::min());
}

TEST(Breaker, lets_one_request_try_once_the_open_time_is_over) {
  Breaker breaker = opened_at(kStart);
  EXPECT_FALSE(breaker.claim(kStart + 29s));
  EXPECT_TRUE(breaker.claim(kStart + 30s));
  EXPECT_EQ(breaker.state(), State::kHalfOpen);
  EXPECT_FALSE(breaker.claim(kStart + 31s)) << "one at a time";
}

TEST(Breaker, a_trial_that_succeeds_closes_it) {
  Breaker breaker = opened_at(kStart);
  const TrialSlot slot = breaker.claim(kStart + 30s).value();
  EXPECT_TRUE(breaker.succeeded(slot));
  EXPECT_EQ(breaker.state(), State::kClosed);
  EXPECT_FALSE(breaker.failed(TrialSlot::kNone, kStart + 31s)) << "the count starts at zero";
}

TEST(Breaker, a_trial_that_fails_opens_it_again) {
  Breaker breaker = opened_at(kStart);
  const TrialSlot slot = breaker.claim(kStart + 30s).value();
  EXPECT_TRUE(breaker.failed(slot, kStart + 32s));
  EXPECT_EQ(breaker.blocked_until(), kStart + 62s);
}

TEST(Breaker, a_trial_whose_client_left_frees_the_slot) {
  Breaker breaker = opened_at(kStart);
  breaker.released(breaker.claim(kStart + 30s).value());
  EXPECT_EQ(breaker.state(), State::kHalfOpen);
  EXPECT_TRUE(breaker.claim(kStart + 30s));
}

TEST(Breaker, a_trial_that_hangs_loses_the_slot_after_the_open_time) {
  Breaker breaker = opened_at(kStart);
  const TrialSlot hung = breaker.claim(kStart + 30s).value();
  EXPECT_FALSE(breaker.claim(kStart + 59s));
  const TrialSlot next = breaker.claim(kStart + 60s).value();
  EXPECT_FALSE(breaker.failed(hung, kStart + 61s)) << "it speaks for nobody now";
  breaker.released(hung);
  EXPECT_FALSE(breaker.claim(kStart + 61s)) << "the slot is the other's";
  EXPECT_TRUE(breaker.succeeded(next));
}

TEST(Breaker, requests_from_before_it_opened_decide_nothing) {
  Breaker breaker = opened_at(kStart);
  EXPECT_FALSE(breaker.succeeded(TrialSlot::kNone));
  EXPECT_FALSE(breaker.failed(TrialSlot::kNone, kStart + 20s));
  EXPECT_EQ(breaker.blocked_until(), kStart + 30s) << "not pushed back either";
}

TEST(Breaker, health_that_comes_back_allows_a_trial_at_once) {
  Breaker breaker = opened_at(kStart);
  breaker.allow_trial();
  EXPECT_EQ(breaker.state(), State::kHalfOpen);
  EXPECT_TRUE(breaker.claim(kStart + 1s));
}

TEST(Breaker, switching_it_off_closes_it) {
  Breaker breaker = opened_at(kStart);
  breaker.configure(config::Breaker{});
  EXPECT_EQ(breaker.state(), State::kClosed);
  EXPECT_FALSE(breaker.claim(kStart)) << "there is nothing to try";
}

}  // namespace
}  // namespace rolter::cluster
