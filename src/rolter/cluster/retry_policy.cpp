#include "rolter/cluster/retry_policy.h"

#include <algorithm>
#include <chrono>

namespace rolter::cluster {

std::string_view to_string(RetryVerdict verdict) {
  switch (verdict) {
    case RetryVerdict::kRetry:
      return "retry";
    case RetryVerdict::kNotWorthIt:
      return "not_worth_it";
    case RetryVerdict::kAlreadyRelayed:
      return "already_relayed";
    case RetryVerdict::kExhausted:
      return "exhausted";
    case RetryVerdict::kNoBudget:
      return "no_budget";
    case RetryVerdict::kNoTimeLeft:
      return "no_time_left";
    case RetryVerdict::kAskedToWait:
      return "asked_to_wait";
  }
  return "not_worth_it";
}

RetryDecision RetryPolicy::decide(const FailedAttempt& attempt, RetryBudget& budget,
                                  Rng& rng) const {
  if (attempt.progress == Progress::kBodyStarted) {
    return {RetryVerdict::kAlreadyRelayed};
  }
  if (!worth_retrying(attempt.outcome) || attempt.next == Availability::kAllDrained ||
      (attempt.outcome == Outcome::kTimeout && !retry_timeouts_)) {
    return {RetryVerdict::kNotWorthIt};
  }
  if (attempt.outcome == Outcome::kStaleConnection) {
    return {RetryVerdict::kRetry};
  }
  if (attempt.retries_done >= settings_.max_retries) {
    return {RetryVerdict::kExhausted};
  }
  Duration wait = jittered(attempt.retries_done, rng);
  const bool full =
      attempt.outcome == Outcome::kRateLimited || attempt.outcome == Outcome::kQueueFull;
  const bool only_full_ones =
      attempt.next == Availability::kOnlyTried || attempt.next == Availability::kFailOpen;
  if (full && only_full_ones && attempt.retry_after) {
    if (*attempt.retry_after > Duration{settings_.max_backoff}) {
      return {RetryVerdict::kAskedToWait};
    }
    wait = std::max(wait, *attempt.retry_after);
  }
  if (wait >= attempt.deadline - attempt.now) {
    return {RetryVerdict::kNoTimeLeft};
  }
  if (!budget.try_spend(attempt.now)) {
    return {RetryVerdict::kNoBudget};
  }
  return {RetryVerdict::kRetry, wait};
}

Duration RetryPolicy::jittered(std::uint32_t retries_done, Rng& rng) const {
  Duration most = std::min<Duration>(settings_.base_backoff, settings_.max_backoff);
  for (std::uint32_t i = 0; i < retries_done && most < Duration{settings_.max_backoff}; ++i) {
    most = std::min<Duration>(most * 2, settings_.max_backoff);
  }
  return std::chrono::duration_cast<Duration>(uniform_unit(rng) * most);
}

}  // namespace rolter::cluster
