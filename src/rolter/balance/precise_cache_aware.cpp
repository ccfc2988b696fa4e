#include "rolter/balance/precise_cache_aware.h"

#include <algorithm>
#include <utility>

#include "rolter/balance/load.h"

namespace rolter::balance {

PreciseCacheAware::PreciseCacheAware(const PreciseSettings& settings, RouteResidency residency,
                                     std::optional<RoutePrefixes> prefixes)
    : settings_(settings), residency_(std::move(residency)), prefixes_(std::move(prefixes)) {}

Decision PreciseCacheAware::pick(const PickInput& in, Rng& rng, std::vector<Score>* scores) {
  PerCandidate<Held> held;
  const std::uint64_t exact_match = residency_.match(in, rng, held);
  RoutePrefixes::All sent;
  if (prefixes_ && std::ranges::any_of(held, [](const Held& one) { return !one.is_known(); })) {
    sent = prefixes_->match(in);
  }
  PerCandidate<double> loads(held.size());
  load_.score({.pick = in, .matched_bytes = {}}, {loads.data(), loads.size()});
  PerCandidate<Credit> credits(held.size());
  for (std::size_t i = 0; i < credits.size(); ++i) {
    Credit& credit = credits[i];
    if (held[i].is_known()) {
      credit.share = held[i].share();
      credit.source = held[i].source;
    } else if (!sent.bytes.empty() && sent.bytes[i] > 0) {
      credit.sent_bytes = sent.bytes[i];
      credit.share =
          static_cast<double>(sent.bytes[i]) / static_cast<double>(in.prompt.text.size());
      credit.source = Source::kPrefix;
    }
    credit.total = settings_.precise_weight * credit.share + settings_.load_weight * loads[i];
    if (scores != nullptr) {
      scores->push_back({.target = in.eligible[i].target,
                         .matched = credit.share,
                         .total = credit.total,
                         .parts = {{"precise", credit.share}, {load_.name(), loads[i]}}});
    }
  }
  const Choice choice = choose(in, rng, credits);
  const Held& chosen = held[choice.position];
  const Credit& credit = credits[choice.position];
  const std::size_t cached = chosen.cached_tokens();
  return {.target = in.eligible[choice.position].target,
          .reason = unless_only(in, choice.reason),
          .matched = credit.share,
          .matched_units = chosen.is_known() ? cached : credit.sent_bytes,
          .rank = chosen.rank,
          .cached_tokens = chosen.is_known() ? std::optional(cached) : std::nullopt,
          .trace = sent.trace,
          .source = credit.source,
          .block_size = chosen.block_size,
          .exact_match = exact_match};
}

Record PreciseCacheAware::record(const PickInput& in, const Candidate& chosen) {
  Record record = residency_.record(in, chosen, settings_.optimistic);
  if (prefixes_) {
    record.add(prefixes_->record(in, chosen));
  }
  return record;
}

PreciseCacheAware::Choice PreciseCacheAware::choose(const PickInput& in, Rng& rng,
                                                    const PerCandidate<Credit>& credits) const {
  const auto in_flight = [&in](std::size_t i) { return in.eligible[i].in_flight; };
  if (std::ranges::none_of(credits, [](const Credit& credit) { return credit.share > 0; })) {
    Choices choices = open_to_misses(in.eligible, rng);
    choices.keep_least(in_flight);
    return {choices.pick(rng), Reason::kNoCredit};
  }
  const auto overloaded = [&](std::size_t i) {
    return is_overloaded(settings_.overload, in.eligible, i);
  };
  Choices choices = Choices::all(in.eligible.size());
  choices.prefer([&](std::size_t i) { return !overloaded(i); });
  choices.keep_greatest([&](std::size_t i) { return credits[i].total; });
  choices.keep_least(in_flight);
  const std::size_t chosen = choices.pick(rng);
  const bool passed_over = std::ranges::any_of(Choices::all(credits.size()), [&](std::size_t i) {
    return credits[i].total > credits[chosen].total && overloaded(i);
  });
  return {chosen, passed_over                                 ? Reason::kOverloaded
                  : credits[chosen].share == 0.0              ? Reason::kScore
                  : credits[chosen].source == Source::kPrefix ? Reason::kPrefix
                                                              : Reason::kResident};
}

}  // namespace rolter::balance
