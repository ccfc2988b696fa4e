#include "rolter/balance/route_prefixes.h"

#include <algorithm>

namespace rolter::balance {

using kvcache::PrefixTree;

RoutePrefixes::RoutePrefixes(std::vector<std::shared_ptr<PrefixTree>> trees) {
  for (std::shared_ptr<PrefixTree>& tree : trees) {
    const auto known = std::ranges::find_if(
        distinct_, [&](const std::unique_ptr<Tree>& one) { return &**one == tree.get(); });
    if (known == distinct_.end()) {
      distinct_.push_back(std::make_unique<Tree>(std::move(tree)));
      by_target_.push_back(distinct_.back().get());
    } else {
      by_target_.push_back(known->get());
    }
  }
}

void RoutePrefixes::match(const PickInput& in, Scope scope,
                          PerCandidate<std::size_t>& matched_bytes) const {
  matched_bytes.resize(in.eligible.size());
  if (distinct_.size() > 1) {
    for (const std::unique_ptr<Tree>& tree : distinct_) {
      match_within(*tree, in, scope, matched_bytes);
    }
    return;
  }
  PerCandidate<ReplicaSlot> replicas(in.eligible.size());
  std::ranges::transform(in.eligible, replicas.begin(), &Candidate::replica);
  (**distinct_.front())
      .match(in.prompt.root, in.prompt.text, replicas, {matched_bytes.data(), matched_bytes.size()},
             scope);
}

/// The targets of one tree among those of several.
void RoutePrefixes::match_within(const Tree& tree, const PickInput& in, Scope scope,
                                 PerCandidate<std::size_t>& matched_bytes) const {
  PerCandidate<std::size_t> positions;
  PerCandidate<ReplicaSlot> replicas;
  for (std::size_t i = 0; i < in.eligible.size(); ++i) {
    if (by_target_[in.eligible[i].target] == &tree) {
      positions.push_back(i);
      replicas.push_back(in.eligible[i].replica);
    }
  }
  PerCandidate<std::size_t> matched(positions.size());
  (*tree).match(in.prompt.root, in.prompt.text, replicas, {matched.data(), matched.size()}, scope);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    matched_bytes[positions[i]] = matched[i];
  }
}

std::size_t RoutePrefixes::match(const PickInput& in, const Candidate& candidate) const {
  std::size_t matched = 0;
  (**by_target_[candidate.target])
      .match(in.prompt.root, in.prompt.text, {&candidate.replica, 1}, {&matched, 1});
  return matched;
}

void RoutePrefixes::held_bytes(const PickInput& in, const Choices& choices,
                               PerCandidate<std::size_t>& bytes) const {
  bytes.resize(in.eligible.size());
  for (const std::unique_ptr<Tree>& tree : distinct_) {
    PerCandidate<std::size_t> positions;
    PerCandidate<ReplicaSlot> replicas;
    for (const std::size_t i : choices) {
      if (by_target_[in.eligible[i].target] == tree.get()) {
        positions.push_back(i);
        replicas.push_back(in.eligible[i].replica);
      }
    }
    PerCandidate<std::size_t> held(positions.size());
    (**tree).held_bytes(replicas, {held.data(), held.size()});
    for (std::size_t i = 0; i < positions.size(); ++i) {
      bytes[positions[i]] = held[i];
    }
  }
}

Record RoutePrefixes::record(const PickInput& in, const Candidate& chosen) {
  Tree& tree = *by_target_[chosen.target];
  const PrefixTree::Ticket ticket = (*tree).insert(in.prompt.root, in.prompt.text, chosen.replica);
  return ticket == PrefixTree::Ticket::kNone ? Record{}
                                             : Record{tree, static_cast<std::uint64_t>(ticket)};
}

}  // namespace rolter::balance
