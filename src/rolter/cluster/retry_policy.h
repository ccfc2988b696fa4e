#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "rolter/base/random.h"
#include "rolter/base/time.h"
#include "rolter/cluster/cluster_view.h"
#include "rolter/cluster/outcome.h"
#include "rolter/cluster/retry_budget.h"
#include "rolter/config/config.h"

namespace rolter::cluster {

/// An attempt has ended without a byte for the client: everything the decision depends on.
struct FailedAttempt {
  Outcome outcome = Outcome::kAbandoned;
  Progress progress = Progress::kNothingRelayed;
  std::uint32_t retries_done = 0;
  /// What eligible_targets() offers next, with every target of this request's in `tried`.
  Availability next = Availability::kEligible;
  std::optional<Duration> retry_after{};
  TimePoint now{};
  TimePoint deadline = TimePoint::max();
};

enum class RetryVerdict : std::uint8_t {
  kRetry,
  kNotWorthIt,      // no replica would answer otherwise, or the client has left
  kAlreadyRelayed,  // the client has seen part of an answer: a second one would not fit
  kExhausted,       // max_retries
  kNoBudget,        // retries are too large a share of all requests
  kNoTimeLeft,      // the deadline would pass while waiting
  kAskedToWait,     // all there is to try is full, for longer than a retry may wait
};

[[nodiscard]] std::string_view to_string(RetryVerdict verdict);

struct RetryDecision {
  RetryVerdict verdict = RetryVerdict::kNotWorthIt;
  Duration wait{};  // before the next attempt; 0 unless kRetry
  [[nodiscard]] bool retry() const { return verdict == RetryVerdict::kRetry; }
};

/// Whether and when a request is tried again: [retry] with full jitter (uniform in 0..backoff, so
/// that clients that failed together do not come back together).
/// A stale connection is tried again at once, and counts neither as a retry nor against the budget.
class RetryPolicy {
 public:
  /// A timeout is retried only when [timeouts] request_secs is set: the default of ten minutes
  /// means that the replica is working on it, and a second one would work on it too.
  RetryPolicy(const config::Retry& retry, const config::Timeouts& timeouts)
      : settings_(retry), retry_timeouts_(timeouts.request.has_value()) {}

  /// Takes one from the budget when the verdict is kRetry.
  [[nodiscard]] RetryDecision decide(const FailedAttempt& attempt, RetryBudget& budget,
                                     Rng& rng) const;

 private:
  [[nodiscard]] Duration jittered(std::uint32_t retries_done, Rng& rng) const;

  config::Retry settings_;
  bool retry_timeouts_;
};

}  // namespace rolter::cluster
