#include "rolter/cluster/health_state.h"

#include <algorithm>
#include <chrono>

namespace rolter::cluster {
namespace {

/// A replica that may be back is asked this often, so that it serves again within 3 s.
constexpr Duration kFastInterval = std::chrono::seconds{1};

}  // namespace

std::string_view to_string(ProbeResult result) {
  switch (result) {
    case ProbeResult::kPassed:
      return "passed";
    case ProbeResult::kKeyRejected:
      return "key_rejected";
    case ProbeResult::kFailed:
      return "failed";
    case ProbeResult::kTimedOut:
      return "timed_out";
    case ProbeResult::kRefused:
      return "refused";
  }
  return "failed";
}

void HealthState::configure(const config::Health& settings) {
  settings_ = settings;
  if (!settings_.enabled) {
    *this = HealthState(settings);
  }
}

HealthState::Change HealthState::record(ProbeResult result) {
  if (!settings_.enabled) {
    return Change::kNone;  // the answer to a probe from before it was switched off
  }
  last_ = result;
  if (result != ProbeResult::kPassed && result != ProbeResult::kKeyRejected) {
    passes_in_a_row_ = 0;
    if (++failures_in_a_row_ < settings_.fail_after || !up_) {
      return Change::kNone;
    }
    up_ = false;
    return Change::kWentDown;
  }
  failures_in_a_row_ = 0;
  if (++passes_in_a_row_ < settings_.pass_after || (up_ && !suspected_)) {
    return Change::kNone;
  }
  const bool was_up = up_;
  up_ = true;
  suspected_ = false;
  return was_up ? Change::kCleared : Change::kCameUp;
}

void HealthState::suspect() {
  if (settings_.enabled) {
    suspected_ = true;
    passes_in_a_row_ = 0;
  }
}

Duration HealthState::probe_interval() const {
  return up_ && !suspected_ ? Duration{settings_.interval}
                            : std::min<Duration>(settings_.interval, kFastInterval);
}

}  // namespace rolter::cluster
