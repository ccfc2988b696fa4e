#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rolter/balance/choices.h"
#include "rolter/balance/overload.h"
#include "rolter/balance/strategy.h"
#include "rolter/base/random.h"

namespace rolter::balance {

/// The least of our own requests in flight: what the overload rule and the load score compare with.
[[nodiscard]] inline std::uint32_t least_in_flight(std::span<const Candidate> eligible) {
  std::uint32_t least = eligible.front().in_flight;
  for (const Candidate& candidate : eligible) {
    least = std::min(least, candidate.in_flight);
  }
  return least;
}

/// Whether the candidate at `position` is too busy, compared with the least loaded of all.
[[nodiscard]] inline bool is_overloaded(const OverloadRule& rule,
                                        std::span<const Candidate> eligible, std::size_t position) {
  const std::uint32_t load = eligible[position].in_flight;
  return load > rule.beyond && rule.is_overloaded(load, least_in_flight(eligible));
}

/// The queue as the engine reports it where that is known (it sees other gateways' requests too),
/// our own count otherwise.
[[nodiscard]] inline double known_load(const Candidate& candidate) {
  return candidate.queued.value_or(candidate.in_flight);
}

/// Who may take a request that has no place to go to: a target in slow start joins only with the
/// probability of its ramp. A new target has the least load and the coldest cache, and would get
/// every such request otherwise.
[[nodiscard]] inline Choices open_to_misses(std::span<const Candidate> eligible, Rng& rng) {
  Choices choices = Choices::all(eligible.size());
  if (std::ranges::any_of(eligible, [](const auto& candidate) { return candidate.ramp < 1.0; })) {
    PerCandidate<bool> joins;
    for (const Candidate& candidate : eligible) {
      joins.push_back(candidate.ramp >= 1.0 || uniform_unit(rng) < candidate.ramp);
    }
    choices.prefer([&](std::size_t position) { return joins[position]; });
  }
  return choices;
}

/// One row per target, scored by its load alone.
inline void explain_loads(std::span<const Candidate> eligible, std::vector<Score>& scores) {
  for (const Candidate& candidate : eligible) {
    const double load = known_load(candidate);
    scores.push_back({.target = candidate.target, .total = -load, .parts = {{"load", load}}});
  }
}

}  // namespace rolter::balance
