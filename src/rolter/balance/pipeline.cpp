#include "rolter/balance/pipeline.h"

#include <algorithm>
#include <utility>

#include "rolter/balance/load.h"

namespace rolter::balance {

Pipeline::Pipeline(Parts parts) : parts_(std::move(parts)) {}

Decision Pipeline::pick(const PickInput& in, Rng& rng, std::vector<Score>* scores) {
  const RoutePrefixes::All matched = parts_.prefixes.match(in);
  const auto length = static_cast<double>(std::max<std::size_t>(in.prompt.text.size(), 1));
  const auto share = [&](std::size_t i) { return static_cast<double>(matched.bytes[i]) / length; };
  if (scores != nullptr) {
    for (std::size_t i = 0; i < in.eligible.size(); ++i) {
      scores->push_back({.target = in.eligible[i].target, .matched = share(i)});
    }
  }
  PerCandidate<double> totals;
  sum_scores({.pick = in, .matched_bytes = matched.bytes}, parts_.scorers, totals,
             scores == nullptr ? std::span<Score>{} : std::span(*scores).last(in.eligible.size()));
  const Choice choice = choose(in, rng, totals, matched.bytes);
  const std::size_t bytes = matched.bytes[choice.position];
  return {.target = in.eligible[choice.position].target,
          .reason = unless_only(in, choice.reason),
          .matched = share(choice.position),
          .matched_units = bytes,
          .trace = matched.trace,
          .sent_bytes = bytes,
          .source = bytes > 0 ? Source::kPrefix : Source::kNone};
}

Record Pipeline::record(const PickInput& in, const Candidate& chosen) {
  Record record = parts_.prefixes.record(in, chosen);
  if (!in.session.empty()) {
    record.add(*parts_.sessions, parts_.sessions->pin(in.session, chosen.replica, in.now));
  }
  return record;
}

Pipeline::Choice Pipeline::choose(const PickInput& in, Rng& rng, const PerCandidate<double>& totals,
                                  const PerCandidate<std::size_t>& matched) const {
  const std::optional<std::size_t> pin = pinned(in);
  if (pin.has_value() && !is_overloaded(parts_.overload, in.eligible, *pin)) {
    return {*pin, Reason::kSession};
  }
  const bool is_miss = std::ranges::all_of(matched, [](std::size_t bytes) { return bytes == 0; });
  Choices choices = is_miss ? open_to_misses(in.eligible, rng) : Choices::all(in.eligible.size());
  if (pin.has_value()) {
    choices.prefer([pin](std::size_t i) { return i != *pin; });
  }
  choices.keep_greatest([&](std::size_t i) { return totals[i]; });
  return {choices.pick(rng), Reason::kScore};
}

std::optional<std::size_t> Pipeline::pinned(const PickInput& in) const {
  if (in.session.empty()) {
    return std::nullopt;
  }
  const std::optional<ReplicaSlot> replica = parts_.sessions->find(in.session, in.now);
  for (std::size_t i = 0; replica.has_value() && i < in.eligible.size(); ++i) {
    if (in.eligible[i].replica == *replica) {
      return i;
    }
  }
  return std::nullopt;
}

}  // namespace rolter::balance
