#pragma once

#include "rolter/base/time.h"

namespace rolter::runtime {

/// The machine's clocks: the one place besides the command line where they are read.
class SystemClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return std::chrono::steady_clock::now(); }
  [[nodiscard]] WallTime wall_now() const override { return std::chrono::system_clock::now(); }
};

}  // namespace rolter::runtime
