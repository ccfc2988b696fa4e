#pragma once

#include <optional>

#include "rolter/base/time.h"

namespace rolter::http {

/// The clock of a loop, read once in a step of its work however often it is asked: a request asks a
/// dozen times, and a step takes microseconds. Between steps every question reads it. One thread.
class StepTimes {
 public:
  explicit StepTimes(const Clock& clock) : clock_(clock) {}

  void begin_step() {
    in_step_ = true;
    now_.reset();
    wall_now_.reset();
  }
  void end_steps() { in_step_ = false; }

  [[nodiscard]] TimePoint now() const {
    if (!in_step_) {
      return clock_.now();
    }
    if (!now_) {
      now_ = clock_.now();
    }
    return *now_;
  }
  [[nodiscard]] WallTime wall_now() const {
    if (!in_step_) {
      return clock_.wall_now();
    }
    if (!wall_now_) {
      wall_now_ = clock_.wall_now();
    }
    return *wall_now_;
  }

 private:
  const Clock& clock_;
  bool in_step_ = false;
  mutable std::optional<TimePoint> now_;
  mutable std::optional<WallTime> wall_now_;
};

}  // namespace rolter::http
