#pragma once

#include <chrono>

#include "rolter/base/time.h"

namespace rolter::fakes {

/// For tests of what waits in real time.
class RealClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return std::chrono::steady_clock::now(); }
  [[nodiscard]] WallTime wall_now() const override { return std::chrono::system_clock::now(); }
};

}  // namespace rolter::fakes
