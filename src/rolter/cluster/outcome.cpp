#include "rolter/cluster/outcome.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "rolter/base/ascii.h"

namespace rolter::cluster {
namespace {

struct Row {
  Outcome outcome;
  std::string_view name;
  Verdict verdict;
  bool worth_retrying;
};

/// The rules of who is to blame, in one place. In the order of the enum.
constexpr std::array<Row, kOutcomeCount> kTable{{
    {Outcome::kServed, "served", Verdict::kSuccess, false},
    {Outcome::kClientFault, "client_fault", Verdict::kNeither, false},
    {Outcome::kClientGone, "client_gone", Verdict::kNeither, false},
    {Outcome::kRequestTimeout, "request_timeout", Verdict::kNeither, true},
    {Outcome::kRateLimited, "rate_limited", Verdict::kNeither, true},
    {Outcome::kQueueFull, "queue_full", Verdict::kNeither, true},
    {Outcome::kKeyRejected, "key_rejected", Verdict::kNeither, false},
    {Outcome::kServerError, "server_error", Verdict::kFailure, true},
    {Outcome::kConnectRefused, "connect_refused", Verdict::kFailure, true},
    {Outcome::kConnectFailed, "connect_failed", Verdict::kFailure, true},
    {Outcome::kReset, "reset", Verdict::kFailure, true},
    {Outcome::kTimeout, "timeout", Verdict::kFailure, true},
    {Outcome::kAbortedEmpty, "aborted_empty", Verdict::kFailure, true},
    {Outcome::kBrokenStream, "broken_stream", Verdict::kFailure, false},
    {Outcome::kStaleConnection, "stale_connection", Verdict::kNeither, true},
    {Outcome::kAbandoned, "abandoned", Verdict::kNeither, false},
}};

constexpr bool table_is_in_order() {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    if (static_cast<std::size_t>(kTable[i].outcome) != i) {
      return false;
    }
  }
  return true;
}
static_assert(table_is_in_order());

const Row& row(Outcome outcome) {
  return kTable.at(static_cast<std::size_t>(outcome));
}

/// What engines write when their queue is full. Their 503 for anything else (a dead engine core, a
/// proxy in front without a backend) is a failure.
constexpr std::array<std::string_view, 3> kQueueFullWords{
    "currently busy and cannot accept new requests",  // vLLM --max-num-queued-reqs / -tokens
    "queue is full",                                  // SGLang --max-queued-requests
    "queue full",                                     // `rolter sim-engine`, and Rolter itself
};

bool says_queue_full(std::string_view body_start) {
  return std::ranges::any_of(kQueueFullWords, [&](std::string_view words) {
    return !std::ranges::search(body_start, words, {}, to_lower).empty();
  });
}

}  // namespace

std::string_view to_string(Outcome outcome) {
  return row(outcome).name;
}

Verdict verdict(Outcome outcome) {
  return row(outcome).verdict;
}

bool worth_retrying(Outcome outcome) {
  return row(outcome).worth_retrying;
}

Outcome classify_status(int status, std::string_view body_start) {
  if (status < 400) {
    return Outcome::kServed;
  }
  switch (status) {
    case 401:
    case 402:
    case 403:
      return Outcome::kKeyRejected;
    case 408:
      return Outcome::kRequestTimeout;
    case 429:
      return Outcome::kRateLimited;
    case 501:
    case 505:
      return Outcome::kClientFault;
    case 503:
      return says_queue_full(body_start) ? Outcome::kQueueFull : Outcome::kServerError;
    default:
      return status < 500 ? Outcome::kClientFault : Outcome::kServerError;
  }
}

Outcome classify_error(const Error& error, Progress progress) {
  if (error.source == ErrorSource::kClient) {
    return Outcome::kClientGone;
  }
  if (error.retry == Retry::kFreshConnection) {
    return Outcome::kStaleConnection;
  }
  switch (error.kind) {
    case ErrorKind::kConnectRefused:
      return Outcome::kConnectRefused;
    case ErrorKind::kConnectFailed:
    case ErrorKind::kDenied:  // by the egress policy, for every address the name resolved to
      return Outcome::kConnectFailed;
    case ErrorKind::kTimeout:
      return progress == Progress::kNothingRelayed ? Outcome::kTimeout : Outcome::kBrokenStream;
    default:
      break;
  }
  if (error.source == ErrorSource::kGateway) {
    return Outcome::kAbandoned;
  }
  return progress == Progress::kNothingRelayed ? Outcome::kReset : Outcome::kBrokenStream;
}

}  // namespace rolter::cluster
