#include "rolter/cluster/replica.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>

namespace rolter::cluster {
namespace {

/// A cold replica gets some share at once: with none it would never warm up.
constexpr double kLeastRamp = 0.05;

std::int64_t ticks(TimePoint time) {
  return time.time_since_epoch().count();
}

std::uint64_t pack_scrape(float depth, std::uint32_t sent_mark) {
  return std::uint64_t{std::bit_cast<std::uint32_t>(depth)} << 32U | sent_mark;
}

constexpr float kUnknownDepth = -1.0F;
constexpr float kUnavailable = -1.0F;

/// Seconds by which two readings of one start time may differ.
constexpr double kSameStart = 1.0;

/// A full replica wants to be left alone: for its Retry-After, or for the base after a 429 without
/// one. A full queue without one moves within milliseconds; cooling would only empty it.
bool asks_for_rest(const Report& report) {
  const bool asks = report.outcome == Outcome::kRateLimited ||
                    (report.outcome == Outcome::kQueueFull && report.retry_after);
  return asks && report.may_cool == MayCool::kYes;
}

}  // namespace

std::string_view to_string(WhyNot why) {
  switch (why) {
    case WhyNot::kNone:
      return "eligible";
    case WhyNot::kDrained:
      return "drained";
    case WhyNot::kDown:
      return "down";
    case WhyNot::kCooling:
      return "cooling";
    case WhyNot::kBreakerOpen:
      return "breaker_open";
    case WhyNot::kTrialUnderWay:
      return "trial_under_way";
    case WhyNot::kAtCap:
      return "at_cap";
    case WhyNot::kTried:
      return "tried";
  }
  return "eligible";
}

Replica::Replica(std::string name, ReplicaSlot slot, const ReplicaSettings& settings)
    : name_(std::move(name)),
      slot_(slot),
      scrape_stale_(settings.scrape_stale.count()),
      scrape_(pack_scrape(kUnknownDepth, 0)),
      cooldown_(settings.cooldown),
      breaker_(settings.breaker),
      health_(settings.health) {}

double Replica::ramp(TimePoint now, Duration slow_start) const {
  const std::int64_t since = cold_since_.load(std::memory_order_relaxed);
  if (since == kNever || slow_start <= Duration::zero()) {
    return 1.0;
  }
  const double age = static_cast<double>(ticks(now) - since);
  return std::clamp(age / static_cast<double>(slow_start.count()), kLeastRamp, 1.0);
}

std::optional<double> Replica::queued(TimePoint now) const {
  const std::int64_t at = scraped_at_.load(std::memory_order_relaxed);
  if (at == kNever || ticks(now) - at > scrape_stale_.load(std::memory_order_relaxed)) {
    return std::nullopt;
  }
  const std::uint64_t packed = scrape_.load(std::memory_order_relaxed);
  const float depth = std::bit_cast<float>(static_cast<std::uint32_t>(packed >> 32U));
  if (depth == kUnknownDepth) {
    return std::nullopt;
  }
  const std::uint32_t sent_since = sent() - static_cast<std::uint32_t>(packed);
  return static_cast<double>(depth) + sent_since;
}

std::optional<TimePoint> Replica::refused_since() const {
  const std::int64_t since = refused_since_.load(std::memory_order_relaxed);
  if (since == kNever) {
    return std::nullopt;
  }
  return TimePoint{Duration{since}};
}

std::optional<TrialSlot> Replica::claim_trial(TimePoint now) {
  if (!guarded_.load(std::memory_order_relaxed)) {
    return TrialSlot::kNone;
  }
  const std::lock_guard lock(mutex_);
  if (breaker_.state() == Breaker::State::kClosed) {
    return TrialSlot::kNone;
  }
  const std::optional<TrialSlot> slot = breaker_.claim(now);
  refresh();
  return slot;
}

Transition Replica::attempt_ended(const Report& report, TrialSlot slot, TimePoint sent_at,
                                  TimePoint now) {
  Transition changed;
  const Verdict judged = verdict(report.outcome);
  const bool changes_nothing = judged == Verdict::kSuccess
                                   ? !needs_mending_.load(std::memory_order_relaxed)
                                   : judged == Verdict::kNeither && !asks_for_rest(report);
  if (changes_nothing && slot == TrialSlot::kNone) {
    return changed;
  }
  const std::lock_guard lock(mutex_);
  switch (judged) {
    case Verdict::kSuccess:
      on_success(slot, sent_at, now, changed);
      break;
    case Verdict::kFailure:
      on_failure(report, slot, now, changed);
      break;
    case Verdict::kNeither:
      breaker_.released(slot);
      if (asks_for_rest(report)) {
        changed.cooled_for = cooldown_.rest(report.retry_after, now);
      }
      break;
  }
  refresh();
  return changed;
}

void Replica::on_success(TrialSlot slot, TimePoint sent_at, TimePoint now, Transition& changed) {
  changed.breaker_closed = breaker_.succeeded(slot);
  cooldown_.end_run();
  // An answer to something sent before the last failure says nothing about now.
  if (sent_at <= failed_at_) {
    return;
  }
  changed.recovered = cooldown_.until() > now;
  cooldown_.recover();
  changed.recovered = changed.recovered && cooldown_.until() <= now;
  on_answered(changed);
  if (changed.breaker_closed) {
    cold_since_.store(ticks(now), std::memory_order_relaxed);
  }
}

void Replica::on_failure(const Report& report, TrialSlot slot, TimePoint now, Transition& changed) {
  failed_at_ = now;
  changed.breaker_opened = breaker_.failed(slot, now);
  const bool refused = report.outcome == Outcome::kConnectRefused;
  const bool unreachable = refused || report.outcome == Outcome::kConnectFailed;
  if (unreachable || report.outcome == Outcome::kReset ||
      report.outcome == Outcome::kBrokenStream) {
    health_.suspect();
  }
  if (refused) {
    on_refused(now);
  }
  if (report.may_cool == MayCool::kNo) {
    return;
  }
  changed.cooled_for =
      cooldown_.trip(unreachable ? Cooldown::Cause::kConnect : Cooldown::Cause::kFailure, now);
  if (report.retry_after) {
    const std::optional<Duration> longer = cooldown_.rest(report.retry_after, now);
    changed.cooled_for = longer ? longer : changed.cooled_for;
  }
}

void Replica::on_refused(TimePoint now) {
  if (refused_since_.load(std::memory_order_relaxed) == kNever) {
    refused_since_.store(ticks(now), std::memory_order_relaxed);
  }
}

Transition Replica::probed(ProbeResult result, TimePoint now) {
  Transition changed;
  const std::lock_guard lock(mutex_);
  const HealthState::Change change = health_.record(result);
  switch (result) {
    case ProbeResult::kPassed:
    case ProbeResult::kKeyRejected:
      on_alive(now, change, changed);
      break;
    case ProbeResult::kRefused:
      // As sure a sign as a refused request: leave it alone at once, ask again every second.
      failed_at_ = now;
      on_refused(now);
      health_.suspect();
      changed.cooled_for = cooldown_.trip(Cooldown::Cause::kConnect, now);
      break;
    case ProbeResult::kFailed:
    case ProbeResult::kTimedOut:
      break;
  }
  changed.went_down = change == HealthState::Change::kWentDown;
  refresh();
  return changed;
}

/// A port that refuses has lost its process; what answers there now is another one.
void Replica::on_answered(Transition& changed) {
  if (refused_since_.exchange(kNever, std::memory_order_relaxed) != kNever) {
    changed.restarted = true;
    started_at_.store(0.0, std::memory_order_relaxed);  // or the next scrape would find it again
  }
}

void Replica::on_alive(TimePoint now, HealthState::Change change, Transition& changed) {
  on_answered(changed);
  if (change == HealthState::Change::kNone) {
    return;
  }
  changed.came_up = change == HealthState::Change::kCameUp;
  if (changed.came_up || cooldown_.ended_by_probes()) {
    changed.recovered = !changed.came_up && cooldown_.until() > now;
    cooldown_.recover();
    breaker_.allow_trial();
    cold_since_.store(ticks(now), std::memory_order_relaxed);
  }
}

Transition Replica::scraped(const EngineGauges& gauges, std::uint32_t sent_mark, TimePoint now) {
  const auto depth = static_cast<float>(gauges.depth().value_or(kUnknownDepth));
  scrape_.store(pack_scrape(depth, sent_mark), std::memory_order_relaxed);
  scraped_at_.store(ticks(now), std::memory_order_relaxed);
  if (gauges.kv_usage) {
    kv_usage_.publish(static_cast<float>(*gauges.kv_usage), now,
                      Duration{scrape_stale_.load(std::memory_order_relaxed)});
  } else {
    kv_usage_.forget();
  }
  Transition changed;
  if (gauges.started_at) {
    const double before = started_at_.exchange(*gauges.started_at, std::memory_order_relaxed);
    changed.restarted = before != 0.0 && std::abs(*gauges.started_at - before) > kSameStart;
  }
  return changed;
}

void Replica::lmcache_polled(std::optional<LmcacheReading> reading, TimePoint now,
                             Duration good_for) {
  if (!reading) {
    cache_room_.forget();
    return;
  }
  const double room = reading->available ? 1.0 - reading->occupancy : kUnavailable;
  cache_room_.publish(static_cast<float>(room), now, good_for);
}

std::optional<LmcacheReading> Replica::lmcache(TimePoint now) const {
  const std::optional<float> room = cache_room_.at(now);
  if (!room) {
    return std::nullopt;
  }
  return *room == kUnavailable ? LmcacheReading{.occupancy = 1.0, .available = false}
                               : LmcacheReading{.occupancy = 1.0 - *room, .available = true};
}

bool Replica::set_drained(bool drained, TimePoint now) {
  const std::lock_guard lock(mutex_);
  if (drained_.exchange(drained, std::memory_order_relaxed) == drained) {
    return false;
  }
  if (!drained) {
    cold_since_.store(ticks(now), std::memory_order_relaxed);
  }
  refresh();
  return true;
}

void Replica::configure(const ReplicaSettings& settings) {
  const std::lock_guard lock(mutex_);
  cooldown_.configure(settings.cooldown);
  breaker_.configure(settings.breaker);
  health_.configure(settings.health);
  scrape_stale_.store(settings.scrape_stale.count(), std::memory_order_relaxed);
  refresh();
}

void Replica::starts_cold(TimePoint now) {
  cold_since_.store(ticks(now), std::memory_order_relaxed);
}

Duration Replica::probe_interval() const {
  const std::lock_guard lock(mutex_);
  return health_.probe_interval();
}

ReplicaStatus Replica::status(TimePoint now) const {
  const std::lock_guard lock(mutex_);
  ReplicaStatus status;
  status.last_probe = health_.last();
  status.breaker = breaker_.state();
  status.failures_in_a_row = std::max(breaker_.failures_in_a_row(), cooldown_.failures_in_a_row());
  status.drained = drained();
  if (cooldown_.until() > now) {
    status.cooling_left = cooldown_.until() - now;
  }
  if (status.drained) {
    status.why_not = WhyNot::kDrained;
  } else if (!health_.up()) {
    status.why_not = WhyNot::kDown;
  } else if (status.cooling_left > Duration::zero()) {
    status.why_not = WhyNot::kCooling;
  } else if (now < breaker_.blocked_until()) {
    status.why_not =
        status.breaker == Breaker::State::kOpen ? WhyNot::kBreakerOpen : WhyNot::kTrialUnderWay;
  }
  return status;
}

void Replica::refresh() {
  const bool shut = drained() || !health_.up();
  const TimePoint until = std::max(cooldown_.until(), breaker_.blocked_until());
  closed_until_.store(shut ? kAlways : ticks(until), std::memory_order_relaxed);
  guarded_.store(breaker_.state() != Breaker::State::kClosed, std::memory_order_relaxed);
  needs_mending_.store(cooldown_.needs_mending() || breaker_.failures_in_a_row() > 0 ||
                           guarded_.load() || refused_since_.load() != kNever,
                       std::memory_order_relaxed);
}

}  // namespace rolter::cluster
