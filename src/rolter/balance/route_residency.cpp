#include "rolter/balance/route_residency.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "rolter/balance/exact_match.h"
#include "rolter/kvcache/block_index.h"
#include "rolter/kvcache/chain_key.h"

namespace rolter::balance {
namespace {

using kvcache::PendingBlocks;
using View = kvcache::BlockIndex::StreamView;

kvcache::PromptExtras extras_for(const View& view, const PickInput& in, std::string_view model) {
  return {.adapter = view.knows_adapter ? model : std::string_view(), .cache_salt = in.cache_salt};
}

/// The rank of one engine, views[first] to views[last - 1], that holds the most; of equal ones the
/// one that has the fewest prompts of ours to compute, then any. `last` when nothing is known.
std::size_t best_rank(const ExactMatch& memory, std::size_t first, std::size_t last,
                      const kvcache::PendingBlocks& pending, Rng& rng) {
  const auto waiting = [&](std::size_t i) { return pending.chains_at(memory.views[i].stream); };
  std::size_t best = last;
  std::size_t equals = 0;
  for (std::size_t i = first; i < last; ++i) {
    if (memory.found[i] == ExactMatch::kUnknown) {
      continue;
    }
    if (best != last && memory.found[i] == memory.found[best]) {
      const std::size_t here = waiting(i);
      const std::size_t there = waiting(best);
      equals = here == there ? equals + 1 : 1;
      if (here < there || (here == there && uniform_index(rng, equals) == 0)) {
        best = i;
      }
    } else if (best == last || memory.found[i] > memory.found[best]) {
      best = i;
      equals = 1;
    }
  }
  return best;
}

}  // namespace

std::size_t Held::cached_tokens() const {
  if (prompt_tokens == 0 || block_size == 0) {
    return 0;
  }
  const std::size_t reusable = (prompt_tokens - 1) / block_size;
  return std::min<std::size_t>(blocks, reusable) * block_size;
}

RouteResidency::RouteResidency(std::shared_ptr<kvcache::Residency> residency,
                               std::vector<std::string> models, Learning learning,
                               std::string_view route)
    : residency_(std::move(residency)),
      models_(std::move(models)),
      route_id_(kvcache::marks_seed(0, route, 0)),
      learning_(learning),
      lessons_(residency_) {}

bool RouteResidency::can_match(const View& view, const PickInput& in) const {
  return view.usable && view.block_size != 0 &&
         (in.token_ids.empty() ? learns() && !in.prompt.text.empty()
                               : in.token_ids.size() >= view.block_size);
}

/// Fills the scratch chain with what is known of the prompt's in streams such as this one. Returns
/// the number of the prompt's tokens.
std::size_t RouteResidency::find_chain(const View& view, const PickInput& in,
                                       std::string_view model) const {
  ExactMatch& memory = ExactMatch::of_thread();
  memory.kind = {
      .model = model, .block_size = view.block_size, .knows_adapter = view.knows_adapter};
  if (!in.token_ids.empty()) {
    memory.marks.clear();
    kvcache::chain_keys(in.token_ids, view.block_size, extras_for(view, in, model), memory.chain);
    return in.token_ids.size();
  }
  kvcache::mark_prompt(kvcache::marks_seed(in.prompt.root, model, view.block_size), in.prompt.text,
                       in.prompt.is_chat ? kvcache::PromptKind::kChat : kvcache::PromptKind::kText,
                       memory.marks);
  const auto known = residency_->learned.find({.marks = memory.marks,
                                               .kind = {},
                                               .block_size = view.block_size,
                                               .trust_id = trust_id(model)},
                                              memory.chain);
  memory.place = known.place;
  return known.prompt_tokens;
}

/// Looks up the prompt in all streams whose blocks have the same keys as those of the one at
/// `first`, which has not been looked at yet.
void RouteResidency::find_alike(std::size_t first, const PickInput& in) const {
  ExactMatch& memory = ExactMatch::of_thread();
  const View& model = memory.views[first];
  const auto name = [&memory](const View& view) { return memory.queries[view.position].model; };
  // What is learned is kept by the model's name; token ids are the same for all.
  const bool by_name = model.knows_adapter || in.token_ids.empty();
  memory.group.clear();
  memory.streams.clear();
  for (std::size_t i = first; i < memory.views.size(); ++i) {
    const View& view = memory.views[i];
    if (memory.found[i] == ExactMatch::kUnknown && view.usable &&
        view.block_size == model.block_size && view.knows_adapter == model.knows_adapter &&
        (!by_name || name(view) == name(model))) {
      memory.group.push_back(i);
      memory.streams.push_back(view.stream);
    }
  }
  const std::size_t tokens = find_chain(model, in, name(model));
  memory.blocks.assign(memory.streams.size(), 0);
  if (!memory.chain.empty()) {
    memory.any_pending |= residency_->lookup(memory.chain, memory.streams, in.now, memory.blocks);
  }
  for (std::size_t i = 0; i < memory.group.size(); ++i) {
    const View& view = memory.views[memory.group[i]];
    memory.found[memory.group[i]] =
        view.hybrid ? residency_->ends.last_end(view.stream, memory.chain, memory.blocks[i])
                    : memory.blocks[i];
    memory.tokens[memory.group[i]] = memory.chain.empty() ? 0 : tokens;
  }
}

std::uint64_t RouteResidency::match(const PickInput& in, Rng& rng, PerCandidate<Held>& held) const {
  held.assign(in.eligible.size(), {});
  if (in.token_ids.empty() && (!learns() || in.prompt.text.empty())) {
    return 0;
  }
  ExactMatch& memory = ExactMatch::of_thread();
  memory.begin();
  memory.queries.clear();
  for (const Candidate& candidate : in.eligible) {
    memory.queries.push_back({.replica = candidate.replica, .model = models_[candidate.target]});
  }
  residency_->index.streams_of(memory.queries, memory.views);
  memory.found.assign(memory.views.size(), ExactMatch::kUnknown);
  memory.tokens.assign(memory.views.size(), 0);
  for (std::size_t i = 0; i < memory.views.size(); ++i) {
    if (memory.found[i] == ExactMatch::kUnknown && can_match(memory.views[i], in)) {
      find_alike(i, in);
    }
  }
  for (std::size_t first = 0, last = 0; first < memory.views.size(); first = last) {
    const std::size_t position = memory.views[first].position;
    while (last < memory.views.size() && memory.views[last].position == position) {
      ++last;
    }
    const std::size_t best = best_rank(memory, first, last, residency_->pending, rng);
    if (best != last && memory.tokens[best] > 0) {
      const View& view = memory.views[best];
      Held& at = held[position];
      at.blocks = memory.found[best];
      at.block_size = view.block_size;
      at.prompt_tokens = memory.tokens[best];
      at.full_blocks = static_cast<std::uint32_t>(at.prompt_tokens / view.block_size);
      at.source = in.token_ids.empty() ? Source::kLearned : Source::kTokenIds;
      if (last - first > 1) {
        at.rank = view.rank;
      }
    }
  }
  return memory.number;
}

Record RouteResidency::record(const PickInput& in, const Candidate& chosen, bool optimistic) {
  Record record;
  if (in.token_ids.empty() && !learns()) {
    return record;
  }
  ExactMatch& memory = ExactMatch::of_thread();
  const std::string_view model = models_[chosen.target];
  const bool is_looked_up = in.decided != nullptr && in.decided->exact_match == memory.number;
  if (!is_looked_up) {
    memory.begin();
    memory.queries.assign(1, {.replica = chosen.replica, .model = model});
    residency_->index.streams_of(memory.queries, memory.views);
  }
  const std::span<const View> streams = memory.views_of(chosen.replica, model);
  const View* const view = ExactMatch::view_of(streams, chosen.rank);
  // The blocks of a medium are known by its content as well, which neither text nor ids tell.
  if (view == nullptr || !can_match(*view, in) || in.prompt.has_media) {
    memory.forget_chain();
  } else if (!memory.kind.has(*view, model)) {
    find_chain(*view, in, model);
  }
  if (learns() && !streams.empty()) {
    begin_lesson(in, chosen, view, record);
  }
  if (memory.chain.empty() || !(optimistic || view->hybrid)) {
    return record;
  }
  if (view->hybrid && !in.token_ids.empty()) {
    residency_->ends.add(view->stream, memory.chain);
  }
  const bool is_resident =
      is_looked_up && !memory.any_pending && memory.found_in(*view) == memory.chain.size();
  if (optimistic && !is_resident) {
    const auto ticket = residency_->pending.add(view->stream, memory.chain, in.now);
    if (ticket != PendingBlocks::Ticket::kNone) {
      record.add(*this, std::to_underlying(ticket));
    }
  }
  return record;
}

/// Of what the scratch memory has of the prompt.
void RouteResidency::begin_lesson(const PickInput& in, const Candidate& chosen, const View* view,
                                  Record& record) {
  using kvcache::LearnedChains;
  const bool predicted = in.token_ids.empty() && in.cached_tokens;
  const LearnedChains::Begun begun = residency_->learned.begin(
      {.prompt = {.marks = ExactMatch::of_thread().marks,
                  .kind =
                      in.prompt.is_chat ? kvcache::PromptKind::kChat : kvcache::PromptKind::kText,
                  .block_size = view == nullptr ? 0 : view->block_size,
                  .trust_id = trust_id(models_[chosen.target]),
                  .place = ExactMatch::of_thread().place},
       .replica = chosen.replica,
       .own_session = in.session,
       .may_learn = in.token_ids.empty() && !in.prompt.is_list && in.session_is_clear,
       .one_reply = in.choices == 1,
       .wants_ends = view != nullptr && view->hybrid,
       .predicted_tokens = predicted ? static_cast<std::uint32_t>(*in.cached_tokens) : 0},
      in.now);
  record.set_session(begun.tag);
  if (begun.ticket != LearnedChains::Ticket::kNone) {
    record.add(lessons_, std::to_underlying(begun.ticket));
  }
  // Of hybrid models a prompt counts only where one ended, which events without a name do not tell.
  if (begun.wants_tokens && !view->hybrid) {
    record.want_tokens({.ticket = std::to_underlying(begun.ticket),
                        .block_size = view->block_size,
                        .by_adapter = view->knows_adapter});
  }
}

void RouteResidency::undo(std::uint64_t ticket) {
  residency_->pending.undo(PendingBlocks::Ticket{ticket});
}

void RouteResidency::ended(std::uint64_t ticket, TimePoint now) {
  residency_->pending.answered(PendingBlocks::Ticket{ticket}, now);
}

void RouteResidency::Lessons::reported(std::uint64_t ticket, const PromptUsage& usage) {
  residency_->learned.reported(
      kvcache::LearnedChains::Ticket{ticket}, static_cast<std::uint32_t>(usage.prompt_tokens),
      usage.cached_tokens ? std::optional(static_cast<std::uint32_t>(*usage.cached_tokens))
                          : std::nullopt);
}

void RouteResidency::Lessons::replied(std::uint64_t ticket, std::string_view text) {
  residency_->learned.replied(kvcache::LearnedChains::Ticket{ticket}, text);
}

void RouteResidency::Lessons::ended(std::uint64_t ticket, TimePoint now) {
  const auto ends = residency_->learned.ended(kvcache::LearnedChains::Ticket{ticket}, now);
  if (ends) {
    for (const kvcache::ChainKey& key : ends->keys) {
      residency_->ends.add(ends->stream, {&key, 1});
    }
  }
}

}  // namespace rolter::balance
