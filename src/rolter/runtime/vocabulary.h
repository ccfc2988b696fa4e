#pragma once

#include <cstddef>

#include "rolter/telemetry/metrics_registry.h"

namespace rolter::runtime {

/// Positions in Vocabulary::fallbacks.
inline constexpr std::size_t kFailOpenWord = 0;
inline constexpr std::size_t kFallbackRouteWord = 1;
inline constexpr std::size_t kBadTokenIdsWord = 2;

/// The words of the metrics' labels, from the enums that they stand for.
[[nodiscard]] telemetry::Vocabulary metric_vocabulary();

[[nodiscard]] telemetry::BuildInfo build_info();

}  // namespace rolter::runtime
