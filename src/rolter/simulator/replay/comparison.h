#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rolter/base/time.h"
#include "rolter/simulator/replay/outcome.h"
#include "rolter/simulator/replay/policy.h"
#include "rolter/simulator/replay/virtual_fleet.h"
#include "rolter/simulator/replay/workload.h"

namespace rolter::simulator::replay {

/// The loads between which the sustainable one is looked for.
struct LoadRange {
  double least = 0.25;
  double most = 4.0;
};

struct ComparisonOptions {
  FleetShape fleet;
  Pace pace;
  std::uint32_t max_in_flight = 0;      // of a target; 0 = no cap
  bool record_replies = true;           // by strategies that remember them
  std::optional<Duration> index_lag{};  // absent: no KV events
  bool reports_cached = true;           // engines say what they found
  std::size_t believed_blocks = 0;      // per replica, that prefix trees begin with; 0 = no bound
};

/// Runs strategies and reference policies by name against one workload: Rolter's own strategies,
/// reference_names(), `oracle` (the better of ttft and ttft_x2) and `pooled_lru` (one replica with
/// the caches and speeds of all).
class Comparison {
 public:
  Comparison(const Workload& workload, const ComparisonOptions& options)
      : workload_(workload), options_(options) {}

  /// All names, Rolter's own first.
  [[nodiscard]] static std::vector<std::string_view> names();
  [[nodiscard]] bool knows(std::string_view name) const;

  [[nodiscard]] Outcome run(std::string_view name, const Progress& progress = {}) const;

  /// The largest load at which 90 % of the first tokens come within 5 s, to 0.01, by bisection: it
  /// is taken for granted that more load makes them later. nullopt when not even the least is
  /// sustained.
  [[nodiscard]] std::optional<double> sustainable_load(std::string_view name,
                                                       const LoadRange& range) const;

 private:
  [[nodiscard]] Outcome run_at(std::string_view name, double load, const Progress& progress) const;
  [[nodiscard]] Outcome run_one(std::string_view name, double load, const Progress& progress) const;
  [[nodiscard]] std::unique_ptr<Policy> make(std::string_view name) const;

  const Workload& workload_;
  ComparisonOptions options_;
};

/// Where a hit rate lies between that of round robin (0) and of the pooled cache (1); nullopt when
/// these are equal.
[[nodiscard]] std::optional<double> normalised_hit_rate(double hit_rate, double round_robin,
                                                        double pooled);

}  // namespace rolter::simulator::replay
