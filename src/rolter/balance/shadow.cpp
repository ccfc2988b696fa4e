#include "rolter/balance/shadow.h"

#include <absl/container/inlined_vector.h>

#include <algorithm>

#include "rolter/balance/strategies.h"

namespace rolter::balance {
namespace {

config::Route route_of(const config::Route& route, config::StrategyKind kind) {
  config::Route shadow = route;
  shadow.strategy = kind;
  return shadow;
}

}  // namespace

void ShadowMemory::apply(const config::Route& route) {
  config::Config only;
  only.routes.push_back(route);
  trees_.apply(prefix_tree_demands(only));
  sessions_.apply(session_table_demands(only));
}

ShadowFigures ShadowMemory::figures() const {
  return {.requests = requests_.load(std::memory_order_relaxed),
          .same_target = same_target_.load(std::memory_order_relaxed),
          .prompt_tokens = prompt_tokens_.load(std::memory_order_relaxed),
          .cached_tokens = cached_tokens_.load(std::memory_order_relaxed)};
}

std::uint32_t ShadowMemory::add_load(ReplicaSlot replica, std::int32_t requests) {
  const std::lock_guard lock(loads_mutex_);
  if (loads_.size() <= to_index(replica)) {
    loads_.resize(to_index(replica) + std::size_t{1});
  }
  return loads_[to_index(replica)] += static_cast<std::uint32_t>(requests);
}

Shadow::Shadow(const Parts& parts)
    : kind_(parts.kind), real_trees_(parts.real_trees), memory_(parts.memory) {
  for (const cluster::RouteTarget& target : parts.targets) {
    models_.push_back(target.model);
  }
  const config::Route route = route_of(parts.route, parts.kind);
  memory_->apply(route);
  strategy_ = make_strategy({.route = route,
                             .targets = parts.targets,
                             .trees = memory_->trees_,
                             .sessions = memory_->sessions_,
                             .residency = std::make_shared<kvcache::Residency>(),
                             .queues = memory_->queues_,
                             .before = parts.before});
}

void Shadow::follow_learned(const Candidate& chosen) {
  const std::string& model = models_[chosen.target];
  const auto real = real_trees_.find(model);
  const auto own = memory_->trees_.find(model);
  if (real && own) {
    own->believe(chosen.replica, real->learned_bytes(chosen.replica));
  }
}

Shadow::Ride::Ride(Shadow& shadow, const PickInput& in, std::size_t real_target)
    : shadow_(&shadow) {
  thread_local Rng own_rng;  // the real strategy's dice are not to be touched
  absl::InlinedVector<Candidate, 16> eligible(in.eligible.begin(), in.eligible.end());
  for (Candidate& candidate : eligible) {
    candidate.in_flight = shadow.memory_->add_load(candidate.replica, 0);
    candidate.queued.reset();
  }
  PickInput as_if = in;
  as_if.eligible = eligible;
  decision_ = shadow.strategy_->pick(as_if, own_rng, nullptr);
  same_target_ = decision_.target == real_target;
  const auto chosen = std::ranges::find(eligible, decision_.target, &Candidate::target);
  replica_ = chosen->replica;
  chosen->rank = decision_.rank;
  as_if.decided = &decision_;
  shadow.follow_learned(*chosen);
  record_ = shadow.strategy_->record(as_if, *chosen);
  shadow.memory_->add_load(replica_, 1);
}

Shadow::Ride::~Ride() {
  if (shadow_ != nullptr) {
    shadow_->memory_->add_load(replica_, -1);
  }
}

void Shadow::Ride::end(const std::optional<PromptUsage>& usage, TimePoint now) {
  ShadowMemory& memory = *shadow_->memory_;
  memory.requests_.fetch_add(1, std::memory_order_relaxed);
  memory.same_target_.fetch_add(same_target_ ? 1 : 0, std::memory_order_relaxed);
  if (usage) {
    record_.report({.prompt_tokens = usage->prompt_tokens});
    memory.prompt_tokens_.fetch_add(usage->prompt_tokens, std::memory_order_relaxed);
    memory.cached_tokens_.fetch_add(
        static_cast<std::uint64_t>(decision_.matched * static_cast<double>(usage->prompt_tokens)),
        std::memory_order_relaxed);
  }
  record_.end(now);
}

}  // namespace rolter::balance
