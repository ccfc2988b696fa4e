#include "rolter/kvcache/held_limit.h"

#include <algorithm>

namespace rolter::kvcache {
namespace {

constexpr double kStep = 0.05;      // for a prompt that was missed, or found, as a whole
constexpr double kProbe = 0.002;    // for one that was as expected
constexpr double kRounding = 0.05;  // of a prompt: engines count whole blocks
constexpr double kFull = 0.9;       // of the limit: below, it has not been tried
constexpr double kPrompts = 4.0;    // like this one fit at the least

}  // namespace

void HeldLimit::learn(const HitReport& report, std::size_t held_bytes) {
  if (report.prompt_bytes == 0) {
    return;
  }
  const auto prompt = static_cast<double>(report.prompt_bytes);
  const auto held = static_cast<double>(held_bytes);
  const double missed =
      (static_cast<double>(report.expected_bytes) - static_cast<double>(report.found_bytes)) /
      prompt;
  if (missed > kRounding) {
    const double from = bytes_ == 0.0 ? held : std::min(bytes_, held);
    bytes_ = std::max(from * (1.0 - kStep * std::min(missed, 1.0)), kPrompts * prompt);
  } else if (bytes_ > 0.0 && held > kFull * bytes_) {
    bytes_ *= missed < -kRounding ? 1.0 + kStep * std::min(-missed, 1.0) : 1.0 + kProbe;
  }
}

}  // namespace rolter::kvcache
