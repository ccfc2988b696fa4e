#include "rolter/simulator/engine_options.h"

#include <algorithm>

namespace rolter::simulator {

std::size_t default_step_tokens(double prefill_tps, std::uint32_t block_size) {
  constexpr std::size_t kVllmDefault = 2'048;
  constexpr double kLongestStepSeconds = 0.128;
  if (prefill_tps <= 0.0) {
    return kVllmDefault;
  }
  const auto affordable = static_cast<std::size_t>(prefill_tps * kLongestStepSeconds);
  return std::clamp(affordable, std::min<std::size_t>(2 * block_size, kVllmDefault), kVllmDefault);
}

}  // namespace rolter::simulator
