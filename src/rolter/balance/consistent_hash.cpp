#include "rolter/balance/consistent_hash.h"

#include <algorithm>
#include <cmath>

#include "rolter/balance/choices.h"
#include "rolter/balance/hash.h"
#include "rolter/balance/load.h"

namespace rolter::balance {
namespace {

std::uint64_t key_of(const PickInput& in) {
  return in.session.empty() ? combine(in.prompt.root,
                                      hash_of(in.prompt.text.substr(0, ConsistentHash::kHeadBytes)))
                            : hash_of(in.session);
}

}  // namespace

ConsistentHash::ConsistentHash(const std::vector<std::string>& labels, OverloadRule overload)
    : overload_(overload) {
  for (const std::string& label : labels) {
    identities_.push_back(hash_of(label));
  }
}

Decision ConsistentHash::pick(const PickInput& in, Rng& rng, std::vector<Score>* scores) {
  if (in.session.empty() && in.prompt.text.empty()) {
    if (scores != nullptr) {
      explain_loads(in.eligible, *scores);
    }
    Choices choices = Choices::all(in.eligible.size());
    choices.keep_least([&](std::size_t i) { return in.eligible[i].in_flight; });
    return {.target = in.eligible[choices.pick(rng)].target,
            .reason = unless_only(in, Reason::kNoPrompt)};
  }
  double weights = 0.0;
  double in_flight = 1.0;  // this request
  for (const Candidate& candidate : in.eligible) {
    weights += candidate.weight;
    in_flight += candidate.in_flight;
  }
  const std::uint64_t key = key_of(in);
  const Candidate* chosen = nullptr;
  double greatest = 0.0;
  for (const Candidate& candidate : in.eligible) {
    constexpr double kShareAllowed = 1.25;
    const double share = std::ceil(kShareAllowed * in_flight * candidate.weight / weights);
    const bool has_room = candidate.in_flight < std::max(share, overload_.beyond + 1.0);
    const double rank_here = rank(candidate, key);
    if (has_room && (chosen == nullptr || rank_here > greatest)) {
      chosen = &candidate;
      greatest = rank_here;
    }
    if (scores != nullptr) {
      scores->push_back({.target = candidate.target,
                         .total = rank_here,
                         .parts = {{"room", has_room ? 1.0 : 0.0}}});
    }
  }
  return {.target = chosen->target, .reason = unless_only(in, Reason::kHash)};
}

double ConsistentHash::rank(const Candidate& candidate, std::uint64_t key) const {
  // -w / ln(u), u uniform in (0, 1]: the maximum of such ranks falls to a target with the
  // probability of its weight's share.
  constexpr double kScale = 1.0 / 9007199254740992.0;  // 2^-53
  const std::uint64_t hash = combine(key, identities_[candidate.target]);
  const double unit = (static_cast<double>(hash >> 11) + 0.5) * kScale;
  return -candidate.weight / std::log(unit);
}

}  // namespace rolter::balance
