#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "rolter/config/config.h"

namespace rolter::config {

/// A word of the configuration file and what it stands for.
template <typename T>
struct Named {
  std::string_view name;
  T value;
};

inline constexpr auto kStrategies = std::to_array<Named<StrategyKind>>({
    {"cache_aware", StrategyKind::kCacheAware},
    {"pipeline", StrategyKind::kPipeline},
    {"precise_cache_aware", StrategyKind::kPreciseCacheAware},
    {"lmcache_aware", StrategyKind::kLmcacheAware},
    {"predicted_ttft", StrategyKind::kPredictedTtft},
    {"round_robin", StrategyKind::kRoundRobin},
    {"random", StrategyKind::kRandom},
    {"least_load", StrategyKind::kLeastLoad},
    {"weighted", StrategyKind::kWeighted},
    {"power_of_two", StrategyKind::kPowerOfTwo},
    {"consistent_hash", StrategyKind::kConsistentHash},
});

/// "cache_aware" and so on: the word of the file, for logs and answers too.
[[nodiscard]] constexpr std::string_view to_string(StrategyKind kind) {
  for (const auto& [name, value] : kStrategies) {
    if (value == kind) {
      return name;
    }
  }
  return "unknown";
}

[[nodiscard]] constexpr std::optional<StrategyKind> strategy_named(std::string_view word) {
  for (const auto& [name, value] : kStrategies) {
    if (name == word) {
      return value;
    }
  }
  return std::nullopt;
}

}  // namespace rolter::config
