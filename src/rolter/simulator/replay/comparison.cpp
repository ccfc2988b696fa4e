#include "rolter/simulator/replay/comparison.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "rolter/config/names.h"
#include "rolter/simulator/replay/reference_policies.h"
#include "rolter/simulator/replay/strategy_policy.h"

namespace rolter::simulator::replay {
namespace {

constexpr std::string_view kOracle = "oracle";
constexpr std::string_view kPooled = "pooled_lru";
constexpr double kSustainedTtft = 5.0;
constexpr double kSustainedShare = 0.9;
constexpr double kLoadStep = 0.01;

/// Of a fleet of one.
class OnlyOne final : public Policy {
 public:
  std::optional<Choice> choose(const Arrival& arrival, std::span<const VirtualEngine> engines,
                               Rng& /*rng*/) override {
    return Choice{0, engines[0].expected_blocks(arrival.call.blocks)};
  }
};

bool is_sustained(const Outcome& outcome) {
  const auto late = std::ranges::upper_bound(outcome.ttft_s, kSustainedTtft);
  return static_cast<double>(late - outcome.ttft_s.begin()) >=
         kSustainedShare * static_cast<double>(outcome.ttft_s.size() + outcome.refused);
}

}  // namespace

std::vector<std::string_view> Comparison::names() {
  std::vector<std::string_view> names;
  for (const auto& strategy : config::kStrategies) {
    names.push_back(strategy.name);
  }
  std::ranges::copy(reference_names(), std::back_inserter(names));
  names.push_back(kOracle);
  names.push_back(kPooled);
  return names;
}

bool Comparison::knows(std::string_view name) const {
  return name == kOracle || name == kPooled || make(name) != nullptr;
}

Outcome Comparison::run(std::string_view name, const Progress& progress) const {
  return run_at(name, options_.pace.load, progress);
}

Outcome Comparison::run_at(std::string_view name, double load, const Progress& progress) const {
  if (name != kOracle) {
    return run_one(name, load, progress);
  }
  Outcome once = run_one("ttft", load, progress);
  Outcome twice = run_one("ttft_x2", load, progress);
  return std::move(twice.mean_ttft_s() < once.mean_ttft_s() ? twice : once);
}

Outcome Comparison::run_one(std::string_view name, double load, const Progress& progress) const {
  Pace pace = options_.pace;
  pace.load = load;
  if (name == kPooled) {
    FleetShape pooled = options_.fleet;
    pooled.replicas = 1;
    pooled.blocks.clear();
    pooled.engine.blocks = 0;
    for (std::size_t i = 0; i < options_.fleet.replicas; ++i) {
      pooled.engine.blocks += options_.fleet.engine_of(i).blocks;
    }
    pooled.engine.prefill_tps *= static_cast<double>(options_.fleet.replicas);
    pooled.engine.prefill_overhead /= static_cast<std::int64_t>(options_.fleet.replicas);
    OnlyOne policy;
    return play(workload_, pooled, pace, policy, progress);
  }
  const std::unique_ptr<Policy> policy = make(name);
  return play(workload_, options_.fleet, pace, *policy, progress);
}

std::optional<double> Comparison::sustainable_load(std::string_view name,
                                                   const LoadRange& range) const {
  if (name == kOracle) {
    return std::max(sustainable_load("ttft", range), sustainable_load("ttft_x2", range));
  }
  const auto sustains = [&](double load) { return is_sustained(run_at(name, load, {})); };
  if (!sustains(range.least)) {
    return std::nullopt;
  }
  if (sustains(range.most)) {
    return range.most;
  }
  double good = range.least;
  double bad = range.most;
  while (bad - good > kLoadStep) {
    const double middle = (good + bad) / 2.0;
    (sustains(middle) ? good : bad) = middle;
  }
  return good;
}

std::unique_ptr<Policy> Comparison::make(std::string_view name) const {
  if (const auto kind = config::strategy_named(name)) {
    return make_strategy_policy({.kind = *kind,
                                 .replicas = options_.fleet.replicas,
                                 .max_in_flight = options_.max_in_flight,
                                 .record_replies = options_.record_replies,
                                 .index_lag = options_.index_lag,
                                 .reports_cached = options_.reports_cached,
                                 .believed_blocks = options_.believed_blocks});
  }
  return make_reference_policy(name, options_.fleet.replicas);
}

std::optional<double> normalised_hit_rate(double hit_rate, double round_robin, double pooled) {
  return pooled == round_robin ? std::nullopt
                               : std::optional((hit_rate - round_robin) / (pooled - round_robin));
}

}  // namespace rolter::simulator::replay
