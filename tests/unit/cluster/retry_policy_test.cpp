#include "rolter/cluster/retry_policy.h"
#include "tests/unit/cluster/start.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

namespace rolter::cluster {
namespace {

using namespace std::chrono_literals;

class RetryPolicyTest : public testing::Test {
 protected:
  RetryDecision decide(const FailedAttempt& attempt) {
    return RetryPolicy{retry_, timeouts_}.decide(attempt, budget_, rng_);
  }
  RetryVerdict verdict_of(const FailedAttempt& attempt) { return decide(attempt).verdict; }

  static FailedAttempt failed(Outcome outcome) {
    FailedAttempt attempt;
    attempt.outcome = outcome;
    attempt.now = kStart;
    return attempt;
  }

  config::Retry retry_;
  config::Timeouts timeouts_;
  RetryBudget budget_{0.2, 1};
  Rng rng_{7};
};

TEST_F(RetryPolicyTest, failures_of_a_replica_are_retried) {
  for (const Outcome outcome :
       {Outcome::kServerError, Outcome::kConnectRefused, Outcome::kConnectFailed, Outcome::kReset,
        Outcome::kAbortedEmpty, Outcome::kRateLimited, Outcome::kQueueFull,
        Outcome::kRequestTimeout}) {
    EXPECT_EQ(verdict_of(failed(outcome)), RetryVerdict::kRetry) << to_string(outcome);
  }
}

TEST_F(RetryPolicyTest, what_another_replica_would_not_change_is_not) {
  for (const Outcome outcome : {Outcome::kServed, Outcome::kClientFault, Outcome::kClientGone,
                                Outcome::kKeyRejected, Outcome::kAbandoned}) {
    EXPECT_EQ(verdict_of(failed(outcome)), RetryVerdict::kNotWorthIt) << to_string(outcome);
  }
}

TEST_F(RetryPolicyTest, never_after_the_first_relayed_byte) {
  FailedAttempt attempt = failed(Outcome::kReset);
  attempt.progress = Progress::kBodyStarted;
  EXPECT_EQ(verdict_of(attempt), RetryVerdict::kAlreadyRelayed);
}

TEST_F(RetryPolicyTest, at_most_max_retries) {
  FailedAttempt attempt = failed(Outcome::kServerError);
  attempt.retries_done = 1;
  EXPECT_EQ(verdict_of(attempt), RetryVerdict::kRetry);
  attempt.retries_done = 2;
  EXPECT_EQ(verdict_of(attempt), RetryVerdict::kExhausted);
  retry_.max_retries = 0;
  attempt.retries_done = 0;
  EXPECT_EQ(verdict_of(attempt), RetryVerdict::kExhausted);
}

TEST_F(RetryPolicyTest, a_timeout_is_retried_only_when_its_limit_was_chosen) {
  EXPECT_EQ(verdict_of(failed(Outcome::kTimeout)), RetryVerdict::kNotWorthIt);
  timeouts_.request = 5s;
  EXPECT_EQ(verdict_of(failed(Outcome::kTimeout)), RetryVerdict::kRetry);
}

TEST_F(RetryPolicyTest, a_stale_connection_is_retried_at_once_and_costs_nothing) {
  FailedAttempt attempt = failed(Outcome::kStaleConnection);
  attempt.retries_done = 2;
  for (int i = 0; i < 1'000; ++i) {
    const RetryDecision decision = decide(attempt);
    ASSERT_TRUE(decision.retry());
    ASSERT_EQ(decision.wait, Duration::zero());
  }
  EXPECT_TRUE(budget_.try_spend(kStart));
}

TEST_F(RetryPolicyTest, waits_are_spread_over_a_backoff_that_doubles_up_to_its_maximum) {
  retry_.max_retries = 100;
  budget_.configure(1.0);
  for (const auto& [retries, most] :
       {std::pair{0U, 100ms}, std::pair{1U, 200ms}, std::pair{4U, 1600ms}, std::pair{5U, 2000ms},
        std::pair{60U, 2000ms}}) {
    FailedAttempt attempt = failed(Outcome::kServerError);
    attempt.retries_done = retries;
    Duration longest{};
    Duration shortest = 1h;
    Duration sum{};
    for (int i = 0; i < 2'000; ++i) {
      budget_.count_request(0);
      const RetryDecision decision = decide(attempt);
      ASSERT_TRUE(decision.retry());
      longest = std::max(longest, decision.wait);
      shortest = std::min(shortest, decision.wait);
      sum += decision.wait;
    }
    EXPECT_LE(longest, most);
    EXPECT_GT(longest, most * 0.95);
    EXPECT_LT(shortest, most * 0.05);
    EXPECT_GT(sum / 2'000, most * 0.47);
    EXPECT_LT(sum / 2'000, most * 0.53);
  }
}

TEST_F(RetryPolicyTest, no_retry_that_the_deadline_would_overtake) {
  FailedAttempt attempt = failed(Outcome::kServerError);
  attempt.deadline = kStart;
  EXPECT_EQ(verdict_of(attempt), RetryVerdict::kNoTimeLeft);
  attempt.deadline = kStart + 100ms;
  EXPECT_EQ(verdict_of(attempt), RetryVerdict::kRetry);
}

TEST_F(RetryPolicyTest, the_budget_stops_a_storm) {
  int retries = 0;
  for (int i = 0; i < 1'000; ++i) {
    budget_.count_request(0);
    retries += decide(failed(Outcome::kServerError)).retry() ? 1 : 0;
  }
  EXPECT_EQ(retries, 200);
  EXPECT_EQ(verdict_of(failed(Outcome::kServerError)), RetryVerdict::kNoBudget);
}

TEST_F(RetryPolicyTest, a_full_replicas_wait_does_not_matter_while_another_is_eligible) {
  FailedAttempt attempt = failed(Outcome::kRateLimited);
  attempt.retry_after = 30s;
  const RetryDecision decision = decide(attempt);
  EXPECT_TRUE(decision.retry());
  EXPECT_LE(decision.wait, 100ms);
}

TEST_F(RetryPolicyTest, when_all_are_full_it_waits_as_asked_or_gives_the_answer_back) {
  for (const Availability next : {Availability::kOnlyTried, Availability::kFailOpen}) {
    FailedAttempt attempt = failed(Outcome::kRateLimited);
    attempt.next = next;
    attempt.retry_after = 3s;
    EXPECT_EQ(verdict_of(attempt), RetryVerdict::kAskedToWait);
    attempt.retry_after = 1s;
    EXPECT_EQ(decide(attempt).wait, Duration{1s});
  }
}

TEST_F(RetryPolicyTest, no_retry_when_every_target_is_drained) {
  FailedAttempt attempt = failed(Outcome::kReset);
  attempt.next = Availability::kAllDrained;
  EXPECT_EQ(verdict_of(attempt), RetryVerdict::kNotWorthIt);
}

}  // namespace
}  // namespace rolter::cluster
