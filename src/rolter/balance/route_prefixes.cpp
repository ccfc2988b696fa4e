#include "rolter/balance/route_prefixes.h"

#include <algorithm>
#include <cstdint>

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

RoutePrefixes::Best RoutePrefixes::match_best(const PickInput& in) const {
  Best best;
  PerCandidate<std::uint32_t> holders;
  for (const std::unique_ptr<Tree>& tree : distinct_) {
    const Members members = members_of(*tree, in);
    PerCandidate<std::uint32_t> found(members.replicas.size());
    const PrefixTree::BestMatch match = (**tree).match_best(
        in.prompt.root, in.prompt.text, members.replicas, {found.data(), found.size()});
    if (match.bytes > best.bytes) {
      best.bytes = match.bytes;
      best.trace = match.trace;
      holders.clear();
    }
    if (match.bytes == best.bytes) {
      for (std::size_t i = 0; i < match.holders; ++i) {
        holders.push_back(members.positions[found[i]]);
      }
    }
  }
  best.holders = Choices(std::move(holders));
  return best;
}

RoutePrefixes::All RoutePrefixes::match(const PickInput& in) const {
  All all;
  all.bytes.resize(in.eligible.size());
  for (const std::unique_ptr<Tree>& tree : distinct_) {
    const Members members = members_of(*tree, in);
    PerCandidate<std::size_t> bytes(members.replicas.size());
    all.trace = (**tree).match(in.prompt.root, in.prompt.text, members.replicas,
                               {bytes.data(), bytes.size()});
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      all.bytes[members.positions[i]] = bytes[i];
    }
  }
  return all;
}

std::size_t RoutePrefixes::match_one(const PickInput& in, const Candidate& candidate) const {
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
  const PrefixTree::Ticket ticket =
      (*tree).insert(in.prompt.root, in.prompt.text, chosen.replica, in.trace);
  return ticket == PrefixTree::Ticket::kNone ? Record{}
                                             : Record{tree, static_cast<std::uint64_t>(ticket)};
}

RoutePrefixes::Members RoutePrefixes::members_of(const Tree& tree, const PickInput& in) const {
  Members members;
  if (distinct_.size() == 1) {  // the usual case: everybody
    const std::size_t count = in.eligible.size();
    members.positions.resize(count);
    members.replicas.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      members.positions[i] = static_cast<std::uint32_t>(i);
      members.replicas[i] = in.eligible[i].replica;
    }
    return members;
  }
  for (std::size_t i = 0; i < in.eligible.size(); ++i) {
    if (by_target_[in.eligible[i].target] == &tree) {
      members.positions.push_back(static_cast<std::uint32_t>(i));
      members.replicas.push_back(in.eligible[i].replica);
    }
  }
  return members;
}

}  // namespace rolter::balance
