#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rolter/simulator/replay/outcome.h"

namespace rolter::cli {

/// How one strategy or policy did in a replay.
struct ReplayReport {
  std::string strategy;
  simulator::replay::Outcome outcome;
  std::optional<double> normalised_hit_rate;  // round robin = 0, pooled cache = 1
  std::optional<double> sustainable_load;     // absent: none within the range, or not asked for
};

enum class LoadColumn { kHidden, kShown };

/// One line per strategy under a head.
[[nodiscard]] std::string replay_table(const std::vector<ReplayReport>& reports, LoadColumn load);

/// An array of objects with fixed member names: scripts read it. What is unknown is null.
[[nodiscard]] std::string replay_json(const std::vector<ReplayReport>& reports, LoadColumn load);

}  // namespace rolter::cli
