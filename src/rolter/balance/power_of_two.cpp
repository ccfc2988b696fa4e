#include "rolter/balance/power_of_two.h"

#include "rolter/balance/load.h"

namespace rolter::balance {

Decision PowerOfTwo::pick(const PickInput& in, Rng& rng, std::vector<Score>* scores) {
  if (scores != nullptr) {
    explain_loads(in.eligible, *scores);
  }
  if (in.eligible.size() == 1) {
    return {.target = in.eligible.front().target, .reason = Reason::kOnlyOne};
  }
  const std::size_t first = uniform_index(rng, in.eligible.size());
  std::size_t second = uniform_index(rng, in.eligible.size() - 1);
  second += second >= first ? 1 : 0;
  // Of equals the first: it was drawn at random as well.
  const bool is_second_better = known_load(in.eligible[second]) < known_load(in.eligible[first]);
  return {.target = in.eligible[is_second_better ? second : first].target,
          .reason = Reason::kLeastLoad};
}

}  // namespace rolter::balance
