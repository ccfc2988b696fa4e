#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rolter/base/time.h"
#include "rolter/cluster/candidate.h"
#include "rolter/cluster/replica.h"

namespace rolter::cluster {

/// Requests in flight at one target of one route, kept across reloads: what its cap is held
/// against.
struct alignas(64) TargetLoad {
  std::atomic<std::uint32_t> in_flight{0};
};

/// One of a route's targets. Immutable but for what it points to.
struct RouteTarget {
  std::shared_ptr<Replica> replica;
  std::shared_ptr<TargetLoad> load;
  std::string model;         // as the replica calls it
  std::string label;         // "provider/model": x-rolter-target, logs, metrics
  double weight = 1.0;       // > 0, relative
  std::uint32_t cap = 0;     // of requests in flight; 0 = none
  std::size_t provider = 0;  // position in Config::providers
};

struct RouteTargets {
  std::vector<RouteTarget> targets;
  Duration slow_start{};
};

/// Who serves what, published whole. A request keeps the view it started with, and with it every
/// replica and counter that its attempts refer to.
struct ClusterView {
  std::vector<std::shared_ptr<Replica>> replicas;  // as Config::providers
  std::vector<RouteTargets> routes;                // as Config::routes
};

/// What a route has to offer.
enum class Availability : std::uint8_t {
  kEligible,
  kOnlyTried,  // what is eligible has been tried by this request
  kFailOpen,  // nothing is eligible: all that are not drained are offered, to be counted and logged
  kAllAtCap,  // whatever could serve is at its max_in_flight: wait; nothing is offered
  kAllDrained,  // an operator took every target out (or the route has none); nothing is offered
};

[[nodiscard]] std::string_view to_string(Availability availability);

/// Fills `out` with the targets that may be picked now, in the route's order. `tried` are the
/// targets this request has already been sent to: taken again only when no other one is eligible.
/// Does not allocate once `out` has grown to the route's size.
Availability eligible_targets(const RouteTargets& route, TimePoint now,
                              std::span<const std::size_t> tried, std::vector<Candidate>& out);

/// Why this target is left out; for explain and the live page.
[[nodiscard]] WhyNot why_not(const RouteTarget& target, TimePoint now);

}  // namespace rolter::cluster
