#include "rolter/balance/predicted_ttft.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "rolter/balance/load.h"

namespace rolter::balance {

Decision PredictedTtft::pick(const PickInput& in, Rng& rng, std::vector<Score>* scores) {
  const Prompt prompt = look_up(in, rng);
  PerCandidate<ReplicaSlot> replicas;
  for (const Candidate& candidate : in.eligible) {
    replicas.push_back(candidate.replica);
  }
  PerCandidate<PrefillQueues::State> states(replicas.size());
  parts_.queues->states({replicas.data(), replicas.size()}, in.now, {states.data(), states.size()});
  PerCandidate<double> costs;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const Outlook& outlook = prompt.outlooks[i];
    const double own_s = (prompt.tokens - outlook.cached_tokens) / states[i].tokens_per_s;
    costs.push_back(states[i].queue_s + parts_.miss_weight * own_s);
    if (scores != nullptr) {
      scores->push_back(
          {.target = in.eligible[i].target,
           .matched = prompt.tokens > 0.0 ? outlook.cached_tokens / prompt.tokens : 0.0,
           .total = -costs[i],
           .parts = {{"queue_s", states[i].queue_s}, {"prefill_s", own_s}}});
    }
  }
  return describe(in, prompt, choose(in, rng, prompt, costs));
}

Decision PredictedTtft::describe(const PickInput& in, const Prompt& prompt, std::size_t chosen) {
  const Outlook& outlook = prompt.outlooks[chosen];
  const std::size_t exact = outlook.held.cached_tokens();
  return {.target = in.eligible[chosen].target,
          .reason =
              unless_only(in, in.prompt.text.empty() && in.token_ids.empty() ? Reason::kNoPrompt
                                                                             : Reason::kPredicted),
          .matched = prompt.tokens > 0.0 ? outlook.cached_tokens / prompt.tokens : 0.0,
          .matched_units = outlook.is_exact() ? exact : outlook.matched_bytes,
          .rank = outlook.held.rank,
          .cached_tokens = outlook.is_exact() ? std::optional(exact) : std::nullopt,
          .trace = prompt.trace,
          .sent_bytes = outlook.is_exact() ? std::nullopt : std::optional(outlook.matched_bytes),
          .source = outlook.is_exact()          ? outlook.held.source
                    : outlook.matched_bytes > 0 ? Source::kPrefix
                                                : Source::kNone,
          .block_size = outlook.held.block_size,
          .exact_match = prompt.exact_match};
}

Record PredictedTtft::record(const PickInput& in, const Candidate& chosen) {
  const double tokens = tokens_of(in);
  const double cached = in.decided == nullptr ? 0.0 : in.decided->matched * tokens;
  const auto ticket = parts_.queues->add({.replica = chosen.replica,
                                          .uncached_tokens = tokens - cached,
                                          .cached_tokens = cached,
                                          .text_bytes = in.prompt.text.size(),
                                          .streamed = in.streamed},
                                         in.now);
  Record record = parts_.prefixes.record(in, chosen);
  record.add(parts_.residency.record(in, chosen, parts_.optimistic));
  record.add(*this, std::to_underlying(ticket));
  return record;
}

double PredictedTtft::tokens_of(const PickInput& in) const {
  return in.token_ids.empty()
             ? static_cast<double>(in.prompt.text.size()) / parts_.token_size->bytes()
             : static_cast<double>(in.token_ids.size());
}

PredictedTtft::Prompt PredictedTtft::look_up(const PickInput& in, Rng& rng) const {
  Prompt prompt;
  prompt.outlooks.resize(in.eligible.size());
  PerCandidate<Held> held;
  prompt.exact_match = parts_.residency.match(in, rng, held);
  prompt.tokens = tokens_of(in);
  if (const auto known = std::ranges::find_if(held, &Held::is_known);
      in.token_ids.empty() && known != held.end()) {
    prompt.tokens = static_cast<double>(known->prompt_tokens);
  }
  RoutePrefixes::All sent;
  if (std::ranges::any_of(held, [](const Held& one) { return one.full_blocks == 0; })) {
    sent = parts_.prefixes.match(in);
    prompt.trace = sent.trace;
  }
  for (std::size_t i = 0; i < held.size(); ++i) {
    Outlook& outlook = prompt.outlooks[i];
    outlook.held = held[i];
    if (outlook.is_exact()) {
      outlook.cached_tokens = static_cast<double>(held[i].cached_tokens());
    } else {
      outlook.matched_bytes = sent.bytes[i];
      const double share = in.prompt.text.empty() ? 0.0
                                                  : static_cast<double>(sent.bytes[i]) /
                                                        static_cast<double>(in.prompt.text.size());
      outlook.cached_tokens = share * prompt.tokens;
    }
    // An engine computes at least the last token.
    outlook.cached_tokens =
        std::clamp(outlook.cached_tokens, 0.0, std::max(prompt.tokens - 1.0, 0.0));
  }
  return prompt;
}

std::size_t PredictedTtft::choose(const PickInput& in, Rng& rng, const Prompt& prompt,
                                  const PerCandidate<double>& costs) const {
  const bool is_miss = std::ranges::all_of(
      prompt.outlooks, [](const Outlook& outlook) { return outlook.cached_tokens == 0.0; });
  Choices choices = is_miss ? open_to_misses(in.eligible, rng) : Choices::all(in.eligible.size());
  choices.keep_least([&](std::size_t i) { return costs[i]; });
  choices.keep_least([&](std::size_t i) { return in.eligible[i].in_flight; });
  return choices.pick(rng);
}

void PredictedTtft::undo(std::uint64_t ticket) {
  parts_.queues->remove(PrefillQueues::Ticket{ticket}, TimePoint{});
}

void PredictedTtft::kept(std::uint64_t ticket, TimePoint now) {
  parts_.queues->first_byte(PrefillQueues::Ticket{ticket}, now);
}

void PredictedTtft::reported(std::uint64_t ticket, const PromptUsage& usage) {
  const auto name = PrefillQueues::Ticket{ticket};
  if (const auto prompt = parts_.queues->find(name); prompt && usage.prompt_tokens > 0) {
    parts_.token_size->observe(prompt->text_bytes, usage.prompt_tokens);
    const auto total = static_cast<double>(usage.prompt_tokens);
    double cached = prompt->cached_tokens;
    if (usage.cached_tokens) {
      cached = static_cast<double>(*usage.cached_tokens);
    }
    parts_.queues->computed(name, std::max(total - cached, 1.0));
  }
}

void PredictedTtft::ended(std::uint64_t ticket, TimePoint now) {
  parts_.queues->remove(PrefillQueues::Ticket{ticket}, now);
}

}  // namespace rolter::balance
