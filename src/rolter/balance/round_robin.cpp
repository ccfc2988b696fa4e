#include "rolter/balance/round_robin.h"

namespace rolter::balance {

Decision RoundRobin::pick(const PickInput& in, Rng& /*rng*/, std::vector<Score>* scores) {
  // explain asks what the next request would get, and leaves the turn to it.
  const std::size_t turn = scores == nullptr ? turn_.fetch_add(1, std::memory_order_relaxed)
                                             : turn_.load(std::memory_order_relaxed);
  const std::size_t chosen = turn % in.eligible.size();
  if (scores != nullptr) {
    for (std::size_t i = 0; i < in.eligible.size(); ++i) {
      scores->push_back({.target = in.eligible[i].target, .total = i == chosen ? 1.0 : 0.0});
    }
  }
  return {.target = in.eligible[chosen].target, .reason = unless_only(in, Reason::kRoundRobin)};
}

}  // namespace rolter::balance
