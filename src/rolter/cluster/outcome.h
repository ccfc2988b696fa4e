#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "rolter/base/error.h"

namespace rolter::cluster {

/// How one attempt at one replica ended, as far as it says something about the replica.
enum class Outcome : std::uint8_t {
  kServed,       // the answer came whole (a 2xx or 3xx, to its last byte)
  kClientFault,  // 4xx that the request itself earned, and 501/505: another replica says the same
  kClientGone,   // the client left, or its upload failed
  kRequestTimeout,   // the replica's 408: it waited for an upload, ours or the client's
  kRateLimited,      // 429
  kQueueFull,        // a 503 that says so: alive, but full
  kKeyRejected,      // 401, 402, 403: about a key, not about the replica's health
  kServerError,      // any other 5xx
  kConnectRefused,   // nobody listens
  kConnectFailed,    // unreachable, not resolved, denied by egress, TLS failed, or timed out
  kReset,            // connection lost or unusable answer before the first body byte
  kTimeout,          // no first body byte in time
  kAbortedEmpty,     // 200 with no text and finish_reason "abort": vLLM while it drains
  kBrokenStream,     // died, stalled or broke its framing after the first body byte
  kStaleConnection,  // a reused connection turned out closed: nobody's failure
  kAbandoned,        // ended by the gateway itself: shutdown, a bug
};

inline constexpr std::size_t kOutcomeCount = 16;

/// A stable lower-case word for logs and metric labels.
[[nodiscard]] std::string_view to_string(Outcome outcome);

/// What an outcome means for the breaker and the run of failures that cooldowns grow by.
enum class Verdict : std::uint8_t { kSuccess, kFailure, kNeither };
[[nodiscard]] Verdict verdict(Outcome outcome);

/// Whether another replica, or the same one later, may answer the same request. Says nothing about
/// the number of attempts: see RetryPolicy.
[[nodiscard]] bool worth_retrying(Outcome outcome);

/// The outcome that a whole answer with this status is. `body_start` is as much of the body as has
/// come (1 KiB is enough); only a 503's is looked at, for the words of a full queue.
[[nodiscard]] Outcome classify_status(int status, std::string_view body_start);

/// How far the answer had come when an error ended it.
enum class Progress : std::uint8_t { kNothingRelayed, kBodyStarted };

/// The outcome that this error is.
[[nodiscard]] Outcome classify_error(const Error& error, Progress progress);

}  // namespace rolter::cluster
