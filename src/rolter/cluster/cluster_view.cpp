#include "rolter/cluster/cluster_view.h"

#include <algorithm>
#include <optional>

namespace rolter::cluster {
namespace {

/// The free share of the replica's LMCache; nullopt when unknown.
std::optional<double> cache_room(const Replica& replica, TimePoint now) {
  const std::optional<LmcacheReading> reading = replica.lmcache(now);
  if (!reading) {
    return std::nullopt;
  }
  return reading->available ? 1.0 - reading->occupancy : 0.0;
}

bool at_cap(const RouteTarget& target) {
  return target.cap != 0 && target.load->in_flight.load(std::memory_order_relaxed) >= target.cap;
}

/// What one pass over the targets found beside the candidates.
struct Census {
  bool any_at_cap = false;
  bool any_not_drained = false;
};

/// The ways of being let in, from the strictest on.
enum class Door : std::uint8_t { kEligible, kEligibleOrTried, kAnyUntried, kAny };

Census collect(const RouteTargets& route, TimePoint now, std::span<const std::size_t> tried,
               Door door, std::vector<Candidate>& out) {
  Census census;
  out.clear();
  const bool skip_tried = door == Door::kEligible || door == Door::kAnyUntried;
  const bool must_be_eligible = door == Door::kEligible || door == Door::kEligibleOrTried;
  for (std::size_t i = 0; i < route.targets.size(); ++i) {
    const RouteTarget& target = route.targets[i];
    const Replica& replica = *target.replica;
    if (replica.drained()) {
      continue;
    }
    census.any_not_drained = true;
    if (must_be_eligible && !replica.eligible(now)) {
      continue;
    }
    if (skip_tried && std::ranges::find(tried, i) != tried.end()) {
      continue;
    }
    if (at_cap(target)) {
      census.any_at_cap = true;
      continue;
    }
    out.push_back(Candidate{.target = i,
                            .replica = replica.slot(),
                            .in_flight = replica.in_flight(),
                            .weight = target.weight,
                            .queued = replica.queued(now),
                            .ramp = replica.ramp(now, route.slow_start),
                            .cache_room = cache_room(replica, now)});
  }
  return census;
}

}  // namespace

std::string_view to_string(Availability availability) {
  switch (availability) {
    case Availability::kEligible:
      return "eligible";
    case Availability::kOnlyTried:
      return "only_tried";
    case Availability::kFailOpen:
      return "fail_open";
    case Availability::kAllAtCap:
      return "all_at_cap";
    case Availability::kAllDrained:
      return "all_drained";
  }
  return "eligible";
}

Availability eligible_targets(const RouteTargets& route, TimePoint now,
                              std::span<const std::size_t> tried, std::vector<Candidate>& out) {
  Census census = collect(route, now, tried, Door::kEligible, out);
  if (!out.empty()) {
    return Availability::kEligible;
  }
  if (!census.any_not_drained) {
    return Availability::kAllDrained;
  }
  if (!tried.empty()) {
    census = collect(route, now, tried, Door::kEligibleOrTried, out);
    if (!out.empty()) {
      return Availability::kOnlyTried;
    }
  }
  if (census.any_at_cap) {
    return Availability::kAllAtCap;
  }
  census = collect(route, now, tried, Door::kAnyUntried, out);
  if (out.empty() && !tried.empty()) {
    census = collect(route, now, tried, Door::kAny, out);
  }
  return out.empty() ? Availability::kAllAtCap : Availability::kFailOpen;
}

WhyNot why_not(const RouteTarget& target, TimePoint now) {
  const WhyNot why = target.replica->status(now).why_not;
  return why == WhyNot::kNone && at_cap(target) ? WhyNot::kAtCap : why;
}

}  // namespace rolter::cluster
