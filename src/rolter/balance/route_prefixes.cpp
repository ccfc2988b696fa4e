#include "rolter/balance/route_prefixes.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>

#include "rolter/kvcache/mark_set.h"

namespace rolter::balance {

using kvcache::PrefixTree;

namespace {

/// Two blocks of vLLM's usual size.
constexpr std::uint64_t kLeastSlackTokens = 32;

/// What was expected of one prompt, small enough to be a ticket: then it needs no memory.
struct Expectation {
  ReplicaSlot replica{};
  double share = 0.0;  // of the prompt that was expected to be found
  double bytes = 0.0;  // of the prompt
  double held = 0.0;   // by the tree, for the replica

  [[nodiscard]] std::uint64_t ticket() const {
    return std::uint64_t{to_index(replica)} | quantised(share * kWhole) << kSlotBits |
           quantised(std::log2(std::max(bytes, 1.0)) * kPerDoubling) << kBytesAt |
           quantised(std::log2(std::max(held, 1.0)) * kPerDoubling) << kHeldAt;
  }
  [[nodiscard]] static Expectation of(std::uint64_t ticket) {
    const auto part = [ticket](unsigned at) {
      return static_cast<double>(ticket >> at & ((1U << kPartBits) - 1));
    };
    return {.replica = ReplicaSlot{static_cast<std::uint32_t>(ticket & (kvcache::kMaxSlots - 1))},
            .share = part(kSlotBits) / kWhole,
            .bytes = std::exp2(part(kBytesAt) / kPerDoubling),
            .held = std::exp2(part(kHeldAt) / kPerDoubling)};
  }

 private:
  static constexpr unsigned kSlotBits = 23;
  static constexpr unsigned kPartBits = 12;
  static constexpr unsigned kBytesAt = kSlotBits + kPartBits;
  static constexpr unsigned kHeldAt = kBytesAt + kPartBits;
  static_assert(kHeldAt + kPartBits <= 64 && kvcache::kMaxSlots == 1U << kSlotBits);
  static constexpr double kWhole = (1U << kPartBits) - 1;
  static constexpr double kPerDoubling = 100.0;  // steps of 0.7 %, up to 2^40

  static std::uint64_t quantised(double value) {
    return static_cast<std::uint64_t>(std::clamp(value, 0.0, kWhole));
  }
};

}  // namespace

/// The engine counts in tokens and the tree in bytes: shares of the prompt are compared. Engines
/// find whole blocks, and compute the last one anew; what is within that says nothing.
void RoutePrefixes::Tree::Lesson::reported(std::uint64_t ticket, const PromptUsage& usage) {
  if (!usage.cached_tokens || usage.prompt_tokens == 0) {
    return;
  }
  const Expectation expectation = Expectation::of(ticket);
  const auto tokens = static_cast<double>(usage.prompt_tokens);
  const double expected = expectation.share;
  double found = std::min(1.0, static_cast<double>(*usage.cached_tokens) / tokens);
  if (std::abs(found - expected) * tokens <= slack_tokens(*usage.cached_tokens)) {
    found = expected;
  }
  tree_.learn(expectation.replica,
              {.prompt_bytes = static_cast<std::size_t>(expectation.bytes),
               .expected_bytes = static_cast<std::size_t>(expected * expectation.bytes),
               .found_bytes = static_cast<std::size_t>(found * expectation.bytes),
               .held_bytes = static_cast<std::size_t>(expectation.held)});
}

/// The size of a block divides all that was ever found.
double RoutePrefixes::Tree::Lesson::slack_tokens(std::uint64_t found) {
  std::uint64_t known = divisor_.load(std::memory_order_relaxed);
  if (found % std::max<std::uint64_t>(known, 1) != 0 || known == 0) {
    known = std::gcd(known, found);
    divisor_.store(known, std::memory_order_relaxed);
  }
  return static_cast<double>(std::max(known, kLeastSlackTokens));
}

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
      (*tree).insert(in.prompt.root, in.prompt.text, chosen.replica,
                     in.decided == nullptr ? PrefixTree::Trace{} : in.decided->trace);
  if (ticket == PrefixTree::Ticket::kNone) {
    return {};
  }
  Record record(tree, std::to_underlying(ticket));
  if (in.decided != nullptr && in.decided->sent_bytes) {
    const auto bytes = static_cast<double>(in.prompt.text.size());
    const Expectation expectation{.replica = chosen.replica,
                                  .share = static_cast<double>(*in.decided->sent_bytes) / bytes,
                                  .bytes = bytes,
                                  .held = static_cast<double>((*tree).held_bytes(chosen.replica))};
    record.add(tree.lesson(), expectation.ticket());
  }
  return record;
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
