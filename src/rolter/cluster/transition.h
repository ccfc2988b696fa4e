#pragma once

#include <optional>
#include <string>

#include "rolter/base/time.h"

namespace rolter::cluster {

/// What an event changed about a replica, for whoever logs and counts it. Nothing changed on almost
/// every request, so test any() before looking closer.
struct Transition {
  std::optional<Duration> cooled_for{};  // a cooldown began, or its deadline moved
  bool breaker_opened = false;
  bool breaker_closed = false;
  bool went_down = false;  // by probes
  bool came_up = false;    // by probes
  bool recovered = false;  // a cooldown ended early: probes or a request showed that it works
  bool restarted = false;  // it is another process than before

  [[nodiscard]] bool any() const {
    return cooled_for || breaker_opened || breaker_closed || went_down || came_up || recovered ||
           restarted;
  }
  bool operator==(const Transition&) const = default;
};

/// "cooling for 5.0 s, breaker opened"; "" when nothing changed.
[[nodiscard]] std::string describe(const Transition& transition);

}  // namespace rolter::cluster
