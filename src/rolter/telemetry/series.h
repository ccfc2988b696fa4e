#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rolter/telemetry/counter.h"
#include "rolter/telemetry/status_label.h"

namespace rolter::telemetry {

/// Most words of one label whose values the code names (reasons, outcomes, causes).
inline constexpr std::size_t kMostWords = 32;

/// Most ways in which the state of a cache can be known, and how what it told compares with the
/// engine's report.
inline constexpr std::size_t kMostSources = 4;
inline constexpr std::size_t kVerdicts = 4;

/// Counts by a word of a vocabulary, whose enum's value is the index.
using WordCounters = std::array<Counter, kMostWords>;

/// One loop's counts for one target of one route, or for what a route answered without a target.
struct alignas(64) TargetCounters {
  void answered(int status) { requests[status_label_index(status)].add(); }

  std::array<Counter, kStatusLabels> requests;
  TimeHistogram latency_ms;
  TimeHistogram ttft_ms;
  WordCounters errors;
  Counter retries;
  Counter prompt_tokens;
  Counter cached_tokens;
  Counter predicted_cached_tokens;
  Counter foreseen_cached_tokens;
  std::array<std::array<Counter, kVerdicts>, kMostSources> predictions;
  Counter completion_tokens;
};

struct alignas(64) RouteCounters {
  WordCounters decisions;
  WordCounters fallbacks;
  FractionHistogram matched;
  Counter queue_full;
  Counter queue_timed_out;
  Counter heartbeats;
  Counter request_bytes;
  Counter response_bytes;
};

struct alignas(64) ProviderCounters {
  Counter cooldowns_tripped;
  Counter breaker_opened;
  Counter cache_losses;
  WordCounters probes;
};

struct alignas(64) KeyCounters {
  Counter requests;
  Counter prompt_tokens;
  Counter cached_tokens;
  Counter completion_tokens;
};

/// What belongs to no route.
struct alignas(64) LoopCounters {
  Counter client_disconnects;
  LagHistogram lag_seconds;
};

/// A label's value with one block of counters per event loop.
template <typename Counters>
class Series {
 public:
  Series(std::string label, std::size_t loops) : label_(std::move(label)), blocks_(loops) {}

  [[nodiscard]] const std::string& label() const { return label_; }
  /// The block of this loop; only it may write there.
  [[nodiscard]] Counters& on(std::size_t loop) { return blocks_[loop]; }
  [[nodiscard]] const std::vector<Counters>& blocks() const { return blocks_; }

 private:
  std::string label_;
  std::vector<Counters> blocks_;
};

using TargetSeries = Series<TargetCounters>;
using ProviderSeries = Series<ProviderCounters>;
using KeySeries = Series<KeyCounters>;

using RouteSeries = Series<RouteCounters>;

/// A route's series. Kept by its layout; what a later layout names again goes on counting.
struct RouteMetrics {
  std::shared_ptr<RouteSeries> route;
  std::shared_ptr<TargetSeries> no_target;  // answered by the gateway itself
  std::vector<std::shared_ptr<TargetSeries>> targets;
};

/// Where each request counts, published whole with each configuration. A request keeps the layout
/// it began with; what it counts on a target that has gone is never shown.
struct MetricsLayout {
  std::vector<RouteMetrics> routes;                        // as Config::routes
  RouteMetrics unknown_route;                              // whatever names no route of ours
  std::vector<std::shared_ptr<ProviderSeries>> providers;  // as Config::providers
  std::vector<std::shared_ptr<KeySeries>> keys;            // as Config::virtual_keys
};

}  // namespace rolter::telemetry
