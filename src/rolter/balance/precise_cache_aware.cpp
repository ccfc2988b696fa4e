#include "rolter/balance/precise_cache_aware.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "rolter/balance/load.h"

namespace rolter::balance {

PreciseCacheAware::PreciseCacheAware(const PreciseSettings& settings,
                                     std::shared_ptr<kvcache::Residency> residency,
                                     std::vector<std::string> models)
    : settings_(settings), residency_(std::move(residency), std::move(models)) {}

Decision PreciseCacheAware::pick(const PickInput& in, Rng& rng, std::vector<Score>* scores) {
  PerCandidate<Held> held;
  residency_.match(in, rng, held);
  PerCandidate<double> loads(held.size());
  load_.score({.pick = in, .matched_bytes = {}}, {loads.data(), loads.size()});
  PerCandidate<double> totals(held.size());
  for (std::size_t i = 0; i < totals.size(); ++i) {
    totals[i] = settings_.precise_weight * held[i].share() + settings_.load_weight * loads[i];
    if (scores != nullptr) {
      scores->push_back({.target = in.eligible[i].target,
                         .matched = held[i].share(),
                         .total = totals[i],
                         .parts = {{"precise", held[i].share()}, {load_.name(), loads[i]}}});
    }
  }
  const Choice choice = choose(in, rng, held, totals);
  const Held& chosen = held[choice.position];
  const std::size_t cached = chosen.cached_tokens(in.token_ids.size());
  return {.target = in.eligible[choice.position].target,
          .reason = unless_only(in, choice.reason),
          .matched = chosen.share(),
          .matched_units = cached,
          .rank = chosen.rank,
          .cached_tokens = chosen.full_blocks == 0 ? std::nullopt : std::optional(cached)};
}

Record PreciseCacheAware::record(const PickInput& in, const Candidate& chosen) {
  return residency_.record(in, chosen, settings_.optimistic);
}

PreciseCacheAware::Choice PreciseCacheAware::choose(const PickInput& in, Rng& rng,
                                                    const PerCandidate<Held>& held,
                                                    const PerCandidate<double>& totals) const {
  const auto in_flight = [&in](std::size_t i) { return in.eligible[i].in_flight; };
  if (std::ranges::none_of(held, [](const Held& target) { return target.blocks > 0; })) {
    Choices choices = open_to_misses(in.eligible, rng);
    choices.keep_least(in_flight);
    return {choices.pick(rng), Reason::kNoCredit};
  }
  const auto overloaded = [&](std::size_t i) {
    return is_overloaded(settings_.overload, in.eligible, i);
  };
  Choices choices = Choices::all(in.eligible.size());
  choices.prefer([&](std::size_t i) { return !overloaded(i); });
  choices.keep_greatest([&](std::size_t i) { return totals[i]; });
  choices.keep_least(in_flight);
  const std::size_t chosen = choices.pick(rng);
  const bool passed_over = std::ranges::any_of(Choices::all(held.size()), [&](std::size_t i) {
    return totals[i] > totals[chosen] && overloaded(i);
  });
  return {chosen, passed_over               ? Reason::kOverloaded
                  : held[chosen].blocks > 0 ? Reason::kResident
                                            : Reason::kScore};
}

}  // namespace rolter::balance
