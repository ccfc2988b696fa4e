#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rolter::cli {

/// What one replica did, by its own account.
struct TargetReport {
  std::string target;
  std::uint64_t requests = 0;
  std::uint64_t computed_prefill_tokens = 0;
};

/// How one strategy did. Hits and tokens are the engines' own counts, times the callers'.
struct StrategyReport {
  std::string strategy;
  std::uint64_t requests = 0;
  std::uint64_t errors = 0;
  std::uint64_t refused = 0;
  double token_hit_rate = 0.0;  // 0..1 of prompt tokens
  std::vector<double> first_token_s;
  double tokens_per_s = 0.0;  // generated
  std::vector<TargetReport> targets;
};

/// The value that a share `part` (0..1) of the sorted values does not exceed (nearest rank); 0 when
/// there is none.
[[nodiscard]] double percentile(const std::vector<double>& sorted, double part);
[[nodiscard]] double mean(const std::vector<double>& values);

/// Most computed prefill tokens of a replica over the mean: 1 = even.
[[nodiscard]] double spread(const StrategyReport& report);

/// One line per strategy under a head.
[[nodiscard]] std::string report_table(const std::vector<StrategyReport>& reports);

/// An array of objects with fixed member names: scripts read it.
[[nodiscard]] std::string report_json(const std::vector<StrategyReport>& reports);

}  // namespace rolter::cli
