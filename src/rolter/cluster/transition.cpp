#include "rolter/cluster/transition.h"

#include <fmt/format.h>

#include <chrono>
#include <string_view>

namespace rolter::cluster {

std::string describe(const Transition& transition) {
  std::string text;
  const auto add = [&text](bool happened, std::string_view words) {
    if (happened) {
      text += text.empty() ? "" : ", ";
      text += words;
    }
  };
  if (transition.cooled_for) {
    const double seconds = std::chrono::duration<double>(*transition.cooled_for).count();
    add(true, fmt::format("cooling for {:.1f} s", seconds));
  }
  add(transition.breaker_opened, "breaker opened");
  add(transition.breaker_closed, "breaker closed");
  add(transition.went_down, "down: health probes fail");
  add(transition.came_up, "up: health probes pass again");
  add(transition.recovered, "back: works again before its cooldown ended");
  add(transition.restarted, "restarted");
  return text;
}

}  // namespace rolter::cluster
