#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace rolter::telemetry {

enum class MetricType : std::uint8_t { kCounter, kGauge, kHistogram };

/// Every metric there is. docs/operations/metrics.md lists the same; a test compares the two.
enum class Metric : std::uint8_t {
  // by route and target
  kRequests,
  kRequestLatency,
  kRequestTtft,
  kUpstreamErrors,
  kRetries,
  kInFlight,
  kPromptTokens,
  kCachedTokens,
  kPredictedCachedTokens,
  kForeseenCachedTokens,
  kCachePredictions,
  kCompletionTokens,
  // by route
  kDecisions,
  kMatchedFraction,
  kFallbacks,
  kQueueWaiting,
  kQueueRefused,
  kHeartbeats,
  kRequestBytes,
  kResponseBytes,
  kIndexNodes,
  kIndexBytes,
  kIndexEvictions,
  kIndexLearnedBytes,
  kShadowRequests,
  kShadowSameTarget,
  kShadowPromptTokens,
  kShadowCachedTokens,
  // by provider
  kCooldownsTripped,
  kBreakerOpened,
  kProbes,
  kCacheLosses,
  kReplicaEligible,
  kReplicaQueueDepth,
  kReplicaKvUsage,
  kLmcacheOccupancy,
  kKvBlocks,
  kKvStreamState,
  kKvStreamLag,
  kKvEvents,
  kKvIncidents,
  // by virtual key
  kKeyRequests,
  kKeyTokens,
  // of the process
  kLearnedChains,
  kLearnedChainEvents,
  kClientDisconnects,
  kClientConnections,
  kRequestBuffers,
  kUpstreamConnections,
  kConfigVersion,
  kConfigReloads,
  kLoopLag,
  kLogLinesDropped,
  kBuildInfo,
};

inline constexpr std::size_t kMetricCount = static_cast<std::size_t>(Metric::kBuildInfo) + 1;
inline constexpr std::size_t kMostLabels = 4;

struct MetricDefinition {
  Metric metric;
  std::string_view name;
  MetricType type;
  std::array<std::string_view, kMostLabels> labels;  // "" = no more
  std::string_view help;

  [[nodiscard]] std::size_t label_count() const;
};

/// In the order of the enum.
[[nodiscard]] std::span<const MetricDefinition> metric_catalogue();
[[nodiscard]] const MetricDefinition& definition(Metric metric);
[[nodiscard]] std::string_view to_string(MetricType type);

}  // namespace rolter::telemetry
