#include "rolter/cluster/cooldown.h"

#include <algorithm>
#include <chrono>

namespace rolter::cluster {
namespace {

/// Where max_secs = 0 sets no limit: keeps the arithmetic of deadlines far from overflow.
constexpr Duration kCeiling = std::chrono::hours{24};
constexpr std::uint32_t kMostDoublings = 24;

}  // namespace

Duration Cooldown::clamped(Duration wanted) const {
  const Duration most = settings_.max.count() == 0 ? kCeiling : Duration{settings_.max};
  return std::clamp(wanted, Duration::zero(), most);
}

std::optional<Duration> Cooldown::trip(Cause cause, TimePoint now) {
  if (now < failure_until_) {
    // Learning that nobody listens lets probes end a cooldown that a reset began.
    cause_ = cause == Cause::kConnect ? cause : cause_;
    return std::nullopt;
  }
  cause_ = cause;
  const std::uint32_t doublings = std::min(failures_in_a_row_, kMostDoublings);
  failures_in_a_row_ = doublings + 1;
  if (settings_.base.count() == 0) {
    return std::nullopt;
  }
  // By comparing before each doubling: base << 24 may not fit.
  Duration wanted = settings_.base;
  for (std::uint32_t i = 0; i < doublings && wanted < kCeiling; ++i) {
    wanted *= 2;
  }
  wanted = clamped(wanted);
  failure_until_ = now + wanted;
  return wanted;
}

std::optional<Duration> Cooldown::rest(std::optional<Duration> wish, TimePoint now) {
  const Duration wanted = clamped(wish.value_or(settings_.base));
  if (wanted == Duration::zero() || now + wanted <= until()) {
    return std::nullopt;
  }
  wish_until_ = now + wanted;
  return wanted;
}

void Cooldown::recover() {
  failure_until_ = TimePoint::min();
  failures_in_a_row_ = 0;
}

}  // namespace rolter::cluster
