#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "rolter/base/ids.h"

namespace rolter::cluster {

/// One target that can take the request now. Ineligible targets (unhealthy, cooling, open, drained,
/// at their cap, already tried) are left out before a strategy sees them.
struct Candidate {
  std::size_t target = 0;             // position in the route's list of targets
  ReplicaSlot replica{};              // its provider, as the indexes know it
  std::uint32_t in_flight = 0;        // requests of ours at the provider, pick to end of body
  double weight = 1.0;                // > 0, relative
  std::optional<double> queued = {};  // scraped running + waiting + sent since; absent = unknown
  double ramp = 1.0;                  // 0..1: share of misses a target in slow start may take
  std::optional<double> cache_room = {};   // free share of its LMCache, 0 when out of order
  std::optional<std::uint32_t> rank = {};  // data-parallel rank, once a pick has chosen one
};

}  // namespace rolter::cluster
