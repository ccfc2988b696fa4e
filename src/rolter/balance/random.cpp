#include "rolter/balance/random.h"

namespace rolter::balance {

Decision Random::pick(const PickInput& in, Rng& rng, std::vector<Score>* scores) {
  if (scores != nullptr) {
    for (const Candidate& candidate : in.eligible) {
      scores->push_back({.target = candidate.target});
    }
  }
  const std::size_t chosen = uniform_index(rng, in.eligible.size());
  return {.target = in.eligible[chosen].target, .reason = unless_only(in, Reason::kRandom)};
}

}  // namespace rolter::balance
