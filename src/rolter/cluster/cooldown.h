#pragma once

#include <cstdint>
#include <optional>

#include "rolter/base/time.h"
#include "rolter/config/config.h"

namespace rolter::cluster {

/// How long a replica is left alone: after failures of its own, doubling with each one in a row,
/// and for as long as it asked for by Retry-After. The later deadline wins. Not thread-safe.
class Cooldown {
 public:
  enum class Cause : std::uint8_t { kFailure, kConnect };

  explicit Cooldown(const config::Cooldown& settings) : settings_(settings) {}
  void configure(const config::Cooldown& settings) { settings_ = settings; }

  /// A failure. Returns how long it cools; nullopt when off (base 0), or when cooling for a failure
  /// already: the requests that were under way when a replica died all fail, and are one failure.
  std::optional<Duration> trip(Cause cause, TimePoint now);

  /// A full replica's wish, or nullopt when it named none (then the base). Clamped to the maximum,
  /// and honoured even when cooling after failures is off. Returns the time from now on if the
  /// deadline moved.
  std::optional<Duration> rest(std::optional<Duration> wish, TimePoint now);

  /// The run of failures is over: the next one cools for the base again.
  void end_run() { failures_in_a_row_ = 0; }

  /// The replica has proved to work again. What it asked for by Retry-After stands.
  void recover();

  [[nodiscard]] TimePoint until() const {
    return failure_until_ > wish_until_ ? failure_until_ : wish_until_;
  }
  /// Cooling because it could not be connected to: passing probes may end it early.
  [[nodiscard]] bool ended_by_probes() const {
    return cause_ == Cause::kConnect && failure_until_ != TimePoint::min();
  }
  /// A success would change something.
  [[nodiscard]] bool needs_mending() const {
    return failures_in_a_row_ > 0 || failure_until_ != TimePoint::min();
  }
  [[nodiscard]] std::uint32_t failures_in_a_row() const { return failures_in_a_row_; }

 private:
  [[nodiscard]] Duration clamped(Duration wanted) const;

  config::Cooldown settings_;
  TimePoint failure_until_ = TimePoint::min();
  TimePoint wish_until_ = TimePoint::min();
  std::uint32_t failures_in_a_row_ = 0;
  Cause cause_ = Cause::kFailure;
};

}  // namespace rolter::cluster
