#include "rolter/balance/route_residency.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "rolter/kvcache/block_index.h"
#include "rolter/kvcache/chain_key.h"

namespace rolter::balance {
namespace {

using kvcache::BlockIndex;
using kvcache::PendingBlocks;
using kvcache::StreamId;
using View = BlockIndex::StreamView;

constexpr std::uint32_t kUnknown = std::numeric_limits<std::uint32_t>::max();

/// A thread's working memory: a replica may have any number of ranks.
struct Scratch {
  std::vector<BlockIndex::ReplicaQuery> queries;
  std::vector<View> views;
  std::vector<std::uint32_t> found;  // leading blocks, as views; kUnknown = nothing is known
  std::vector<kvcache::ChainKey> chain;
  std::vector<std::size_t> group;  // positions in views
  std::vector<StreamId> streams;   // as group
  std::vector<std::uint32_t> blocks;
};

Scratch& scratch() {
  thread_local Scratch memory;
  return memory;
}

bool can_match(const View& view, const PickInput& in) {
  return view.usable && view.block_size != 0 && in.token_ids.size() >= view.block_size;
}

kvcache::PromptExtras extras_for(const View& view, const PickInput& in, std::string_view model) {
  return {.adapter = view.knows_adapter ? model : std::string_view(), .cache_salt = in.cache_salt};
}

/// Looks up the prompt in all streams whose blocks have the same keys as those of the one at
/// `first`, which has not been looked at yet.
void find_alike(std::size_t first, const PickInput& in, kvcache::Residency& residency,
                Scratch& memory) {
  const View& model = memory.views[first];
  const auto name = [&memory](const View& view) { return memory.queries[view.position].model; };
  memory.group.clear();
  memory.streams.clear();
  for (std::size_t i = first; i < memory.views.size(); ++i) {
    const View& view = memory.views[i];
    if (memory.found[i] == kUnknown && view.usable && view.block_size == model.block_size &&
        view.knows_adapter == model.knows_adapter &&
        (!view.knows_adapter || name(view) == name(model))) {
      memory.group.push_back(i);
      memory.streams.push_back(view.stream);
    }
  }
  kvcache::chain_keys(in.token_ids, model.block_size, extras_for(model, in, name(model)),
                      memory.chain);
  memory.blocks.resize(memory.streams.size());
  residency.lookup(memory.chain, memory.streams, in.now, memory.blocks);
  for (std::size_t i = 0; i < memory.group.size(); ++i) {
    const View& view = memory.views[memory.group[i]];
    memory.found[memory.group[i]] =
        view.hybrid ? residency.ends.last_end(view.stream, memory.chain, memory.blocks[i])
                    : memory.blocks[i];
  }
}

/// The rank of one engine, views[first] to views[last - 1], that holds the most; of equal ones the
/// one that has the fewest prompts of ours to compute, then any. `last` when nothing is known.
std::size_t best_rank(const Scratch& memory, std::size_t first, std::size_t last,
                      const kvcache::PendingBlocks& pending, Rng& rng) {
  const auto waiting = [&](std::size_t i) { return pending.chains_at(memory.views[i].stream); };
  std::size_t best = last;
  std::size_t equals = 0;
  for (std::size_t i = first; i < last; ++i) {
    if (memory.found[i] == kUnknown) {
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

std::size_t Held::cached_tokens(std::size_t prompt_tokens) const {
  if (prompt_tokens == 0 || block_size == 0) {
    return 0;
  }
  const std::size_t reusable = (prompt_tokens - 1) / block_size;
  return std::min<std::size_t>(blocks, reusable) * block_size;
}

RouteResidency::RouteResidency(std::shared_ptr<kvcache::Residency> residency,
                               std::vector<std::string> models)
    : residency_(std::move(residency)), models_(std::move(models)) {}

void RouteResidency::match(const PickInput& in, Rng& rng, PerCandidate<Held>& held) const {
  held.assign(in.eligible.size(), {});
  if (in.token_ids.empty()) {
    return;
  }
  Scratch& memory = scratch();
  memory.queries.clear();
  for (const Candidate& candidate : in.eligible) {
    memory.queries.push_back({.replica = candidate.replica, .model = models_[candidate.target]});
  }
  residency_->index.streams_of(memory.queries, memory.views);
  memory.found.assign(memory.views.size(), kUnknown);
  for (std::size_t i = 0; i < memory.views.size(); ++i) {
    if (memory.found[i] == kUnknown && can_match(memory.views[i], in)) {
      find_alike(i, in, *residency_, memory);
    }
  }
  for (std::size_t first = 0, last = 0; first < memory.views.size(); first = last) {
    const std::size_t position = memory.views[first].position;
    while (last < memory.views.size() && memory.views[last].position == position) {
      ++last;
    }
    const std::size_t best = best_rank(memory, first, last, residency_->pending, rng);
    if (best != last) {
      const View& view = memory.views[best];
      Held& at = held[position];
      at.blocks = memory.found[best];
      at.block_size = view.block_size;
      at.full_blocks = static_cast<std::uint32_t>(in.token_ids.size() / view.block_size);
      if (last - first > 1) {
        at.rank = view.rank;
      }
    }
  }
}

Record RouteResidency::record(const PickInput& in, const Candidate& chosen, bool optimistic) {
  // The blocks of a medium are known by its content as well, which token ids do not tell.
  if (in.token_ids.empty() || in.prompt.has_media) {
    return {};
  }
  Scratch& memory = scratch();
  const std::string& model = models_[chosen.target];
  memory.queries.assign(1, {.replica = chosen.replica, .model = model});
  residency_->index.streams_of(memory.queries, memory.views);
  const bool has_ranks = memory.views.size() > 1;
  const auto view = std::ranges::find_if(memory.views, [&](const View& stream) {
    return can_match(stream, in) && (!has_ranks || stream.rank == chosen.rank);
  });
  if (view == memory.views.end() || !(optimistic || view->hybrid)) {
    return {};
  }
  kvcache::chain_keys(in.token_ids, view->block_size, extras_for(*view, in, model), memory.chain);
  if (view->hybrid) {
    residency_->ends.add(view->stream, memory.chain);
  }
  if (!optimistic) {
    return {};
  }
  const auto ticket = residency_->pending.add(view->stream, memory.chain, in.now);
  return ticket == PendingBlocks::Ticket::kNone ? Record()
                                                : Record(*this, std::to_underlying(ticket));
}

void RouteResidency::undo(std::uint64_t ticket) {
  residency_->pending.undo(PendingBlocks::Ticket{ticket});
}

void RouteResidency::ended(std::uint64_t ticket, TimePoint now) {
  residency_->pending.answered(PendingBlocks::Ticket{ticket}, now);
}

}  // namespace rolter::balance
