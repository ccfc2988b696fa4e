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

void explain(const PickInput& in, const RoutePrefixes& prefixes, std::vector<Score>& scores) {
  const RoutePrefixes::All all = prefixes.match(in);
  for (std::size_t i = 0; i < in.eligible.size(); ++i) {
    const Candidate& candidate = in.eligible[i];
    const double share = share_of(in, all.bytes[i]);
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
  if (scores != nullptr) {
    explain(in, prefixes_, *scores);
  }
  RoutePrefixes::Best best = prefixes_.match_best(in);
  const Choice choice = choose(in, rng, best);
  const Candidate& chosen = in.eligible[choice.position];
  const std::size_t bytes =
      choice.reason == Reason::kPrefix ? best.bytes : prefixes_.match_one(in, chosen);
  return {.target = chosen.target,
          .reason = choice.reason,
          .matched = share_of(in, bytes),
          .matched_units = bytes,
          .trace = best.trace,
          .sent_bytes = bytes,
          .source = bytes > 0 ? Source::kPrefix : Source::kNone};
}

Record CacheAware::record(const PickInput& in, const Candidate& chosen) {
  return prefixes_.record(in, chosen);
}

CacheAware::Choice CacheAware::choose(const PickInput& in, Rng& rng,
                                      RoutePrefixes::Best& best) const {
  if (in.eligible.size() == 1) {
    return {0, Reason::kOnlyOne};
  }
  if (in.prompt.text.empty()) {
    return {least_loaded(in, rng), Reason::kNoPrompt};
  }
  if (!is_match(in, best.bytes)) {
    return {least_loaded(in, rng), Reason::kBelowThreshold};
  }
  best.holders.keep_least([&](std::size_t i) { return in.eligible[i].in_flight; });
  const std::size_t warmest = best.holders.pick(rng);
  if (is_overloaded(settings_.overload, in.eligible, warmest)) {
    return {least_loaded(in, rng), Reason::kOverloaded};
  }
  return {warmest, Reason::kPrefix};
}

std::size_t CacheAware::least_loaded(const PickInput& in, Rng& rng) const {
  Choices choices = open_to_misses(in.eligible, rng);
  choices.keep_least([&](std::size_t i) { return in.eligible[i].in_flight; });
  if (choices.size() > 1) {
    PerCandidate<std::size_t> held;
    prefixes_.held_bytes(in, choices, held);
    choices.keep_least([&](std::size_t i) { return held[i]; });
  }
  return choices.pick(rng);
}

bool CacheAware::is_match(const PickInput& in, std::size_t matched_bytes) const {
  return matched_bytes > 0 && matched_bytes >= settings_.min_match_bytes &&
         share_of(in, matched_bytes) >= settings_.threshold;
}

}  // namespace rolter::balance
