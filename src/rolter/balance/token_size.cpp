#include "rolter/balance/token_size.h"

#include <algorithm>

namespace rolter::balance {
namespace {

constexpr double kUsual = 4.0;
constexpr double kLeast = 0.25;
constexpr double kMost = 64.0;
constexpr double kKeptOfSize = 1.0 - 1.0 / 256.0;  // of everything before, per prompt

}  // namespace

void TokenSize::observe(std::size_t text_bytes, std::uint64_t tokens) {
  if (text_bytes == 0 || tokens == 0) {
    return;
  }
  const std::lock_guard lock(mutex_);
  bytes_ = bytes_ * kKeptOfSize + static_cast<double>(text_bytes);
  tokens_ = tokens_ * kKeptOfSize + static_cast<double>(tokens);
}

double TokenSize::bytes() const {
  const std::lock_guard lock(mutex_);
  return tokens_ > 0.0 ? std::clamp(bytes_ / tokens_, kLeast, kMost) : kUsual;
}

}  // namespace rolter::balance
