#include "rolter/base/random.h"

namespace rolter {

std::size_t uniform_index(Rng& rng, std::size_t bound) {
  return std::uniform_int_distribution<std::size_t>{0, bound - 1}(rng);
}

double uniform_unit(Rng& rng) {
  // 53 random bits: every double of the form k / 2^53, so 1.0 can never come out (as it can from
  // std::uniform_real_distribution through rounding).
  constexpr double kScale = 1.0 / 9007199254740992.0;
  return static_cast<double>(rng() >> 11) * kScale;
}

Rng make_seeded_rng() {
  std::random_device entropy;
  std::seed_seq seed{entropy(), entropy(), entropy(), entropy(), entropy(), entropy()};
  return Rng{seed};
}

}  // namespace rolter
