#include "rolter/balance/least_load.h"

#include "rolter/balance/load.h"

namespace rolter::balance {

Decision LeastLoad::pick(const PickInput& in, Rng& rng, std::vector<Score>* scores) {
  if (scores != nullptr) {
    explain_loads(in.eligible, *scores);
  }
  Choices choices = open_to_misses(in.eligible, rng);
  choices.keep_least([&](std::size_t i) { return known_load(in.eligible[i]); });
  return {.target = in.eligible[choices.pick(rng)].target,
          .reason = unless_only(in, Reason::kLeastLoad)};
}

}  // namespace rolter::balance
