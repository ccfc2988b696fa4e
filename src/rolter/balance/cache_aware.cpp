#include "rolter/balance/cache_aware.h"

#include <utility>

#include "rolter/balance/choices.h"
#include "rolter/balance/load.h"

namespace rolter::balance {
namespace {

double share_of(const PickInput& in, std::size_t matched_bytes) {
  const std::size_t length = in.prompt.text.size();
  return length == 0 ? 0.0 : static_cast<double>(matched_bytes) / static_cast<double>(length);
}

void explain(const PickInput& in, const PerCandidate<std::size_t>& matched,
             std::vector<Score>& scores) {
  for (std::size_t i = 0; i < in.eligible.size(); ++i) {
    const Candidate& candidate = in.eligible[i];
    const double share = share_of(in, matched[i]);
    scores.push_back({.target = candidate.target,
                      .matched = share,
                      .total = share,
                      .parts = {{"prefix", share}, {"in_flight", candidate.in_flight}}});
  }
}

}  // namespace

CacheAware::CacheAware(CacheAwareSettings settings, RoutePrefixes prefixes)
    : settings_(settings), prefixes_(std::move(prefixes)) {}

Decision CacheAware::pick(const PickInput& in, Rng& rng, std::vector<Score>* scores) {
  PerCandidate<std::size_t> matched;
  prefixes_.match(in, scores == nullptr ? RoutePrefixes::Scope::kBest : RoutePrefixes::Scope::kAll,
                  matched);
  if (scores != nullptr) {
    explain(in, matched, *scores);
  }
  if (in.eligible.size() == 1) {
    return decide(in, 0, Reason::kOnlyOne, matched.front());
  }
  if (in.prompt.text.empty()) {
    return pick_least_loaded(in, rng, Reason::kNoPrompt);
  }
  Choices choices = Choices::all(in.eligible.size());
  choices.keep_greatest([&](std::size_t i) { return matched[i]; });
  if (!is_match(in, matched[choices.front()])) {
    return pick_least_loaded(in, rng, Reason::kBelowThreshold);
  }
  choices.keep_least([&](std::size_t i) { return in.eligible[i].in_flight; });
  const std::size_t warmest = choices.pick(rng);
  if (settings_.overload.is_overloaded(in.eligible[warmest].in_flight,
                                       least_in_flight(in.eligible))) {
    return pick_least_loaded(in, rng, Reason::kOverloaded);
  }
  return decide(in, warmest, Reason::kPrefix, matched[warmest]);
}

Record CacheAware::record(const PickInput& in, const Candidate& chosen) {
  return prefixes_.record(in, chosen);
}

Decision CacheAware::decide(const PickInput& in, std::size_t position, Reason reason,
                            std::size_t matched_bytes) const {
  return {.target = in.eligible[position].target,
          .reason = reason,
          .matched = share_of(in, matched_bytes),
          .matched_units = matched_bytes};
}

Decision CacheAware::pick_least_loaded(const PickInput& in, Rng& rng, Reason reason) const {
  Choices choices = open_to_misses(in.eligible, rng);
  choices.keep_least([&](std::size_t i) { return in.eligible[i].in_flight; });
  if (choices.size() > 1) {
    PerCandidate<std::size_t> held;
    prefixes_.held_bytes(in, choices, held);
    choices.keep_least([&](std::size_t i) { return held[i]; });
  }
  const std::size_t chosen = choices.pick(rng);
  return decide(in, chosen, reason, prefixes_.match(in, in.eligible[chosen]));
}

bool CacheAware::is_match(const PickInput& in, std::size_t matched_bytes) const {
  return matched_bytes > 0 && matched_bytes >= settings_.min_match_bytes &&
         share_of(in, matched_bytes) >= settings_.threshold;
}

}  // namespace rolter::balance
