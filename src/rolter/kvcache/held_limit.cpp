#include "rolter/kvcache/held_limit.h"

#include <algorithm>

namespace rolter::kvcache {
namespace {

constexpr double kStep = 0.05;     // for a prompt that was missed, or found, as a whole
constexpr double kMostStep = 0.2;  // for one that was missed like most before it
constexpr double kLately = 1.0 / 16.0;
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
  if (report.expected_bytes > 0) {
    const double share = missed * prompt / static_cast<double>(report.expected_bytes);
    missing_ += kLately * (std::clamp(share, 0.0, 1.0) - missing_);
  }
  if (missed > kRounding) {
    const double from = report.held_bytes == 0 ? held : static_cast<double>(report.held_bytes);
    const double step = std::max(kStep, kMostStep * missing_) * std::min(missed, 1.0);
    const double lowered = std::max(from * (1.0 - step), kPrompts * prompt);
    bytes_ = bytes_ == 0.0 ? lowered : std::min(bytes_, lowered);
  } else if (bytes_ > 0.0 && held > kFull * bytes_) {
    bytes_ *= missed < -kRounding ? 1.0 + kStep * std::min(-missed, 1.0) : 1.0 + kProbe;
  }
}

}  // namespace rolter::kvcache
