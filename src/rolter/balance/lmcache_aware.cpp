#include "rolter/balance/lmcache_aware.h"

#include <optional>

#include "rolter/balance/load.h"

namespace rolter::balance {
namespace {

/// The mean room of the targets where it is known; nullopt when it is nowhere.
std::optional<double> mean_room(std::span<const Candidate> eligible) {
  double sum = 0.0;
  std::size_t known = 0;
  for (const Candidate& candidate : eligible) {
    if (candidate.cache_room) {
      sum += *candidate.cache_room;
      ++known;
    }
  }
  return known == 0 ? std::nullopt : std::optional(sum / static_cast<double>(known));
}

}  // namespace

Decision LmcacheAware::pick(const PickInput& in, Rng& rng, std::vector<Score>* scores) {
  const std::optional<double> mean = mean_room(in.eligible);
  PerCandidate<double> loads(in.eligible.size());
  load_.score({.pick = in, .matched_bytes = {}}, {loads.data(), loads.size()});
  PerCandidate<double> totals(in.eligible.size());
  for (std::size_t i = 0; i < totals.size(); ++i) {
    const double room = in.eligible[i].cache_room.value_or(mean.value_or(0.0));
    totals[i] = settings_.lmcache_weight * room + settings_.load_weight * loads[i];
    if (scores != nullptr) {
      scores->push_back({.target = in.eligible[i].target,
                         .total = totals[i],
                         .parts = {{"lmcache", room}, {load_.name(), loads[i]}}});
    }
  }
  Choices choices = open_to_misses(in.eligible, rng);
  if (mean) {
    choices.prefer(
        [&](std::size_t i) { return !is_overloaded(settings_.overload, in.eligible, i); });
    choices.keep_greatest([&](std::size_t i) { return totals[i]; });
  }
  choices.keep_least([&](std::size_t i) { return in.eligible[i].in_flight; });
  return {.target = in.eligible[choices.pick(rng)].target,
          .reason = unless_only(in, mean ? Reason::kOccupancy : Reason::kNoCredit)};
}

}  // namespace rolter::balance
