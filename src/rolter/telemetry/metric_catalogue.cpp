#include "rolter/telemetry/metric_catalogue.h"

#include <algorithm>

namespace rolter::telemetry {
namespace {

using enum MetricType;

constexpr std::array<MetricDefinition, kMetricCount> kCatalogue{{
    {Metric::kRequests,
     "rolter_requests_total",
     kCounter,
     {"route", "target", "status"},
     "Requests answered, by the status the client got."},
    {Metric::kRequestLatency,
     "rolter_request_latency_ms",
     kHistogram,
     {"route", "target"},
     "Milliseconds from a request's head to the last byte of its answer."},
    {Metric::kRequestTtft,
     "rolter_request_ttft_ms",
     kHistogram,
     {"route", "target"},
     "Milliseconds from a request's head to the first content of its answer."},
    {Metric::kUpstreamErrors,
     "rolter_upstream_errors_total",
     kCounter,
     {"route", "target", "error"},
     "Attempts that ended in an error of the replica, by kind."},
    {Metric::kRetries,
     "rolter_retries_total",
     kCounter,
     {"route", "target"},
     "Attempts that were given up for another one, by the target that was left."},
    {Metric::kInFlight,
     "rolter_in_flight",
     kGauge,
     {"route", "target"},
     "Requests at the target now, from the pick to the last byte."},
    {Metric::kPromptTokens,
     "rolter_prompt_tokens_total",
     kCounter,
     {"route", "target"},
     "Prompt tokens, as the replicas report them."},
    {Metric::kCachedTokens,
     "rolter_cached_tokens_total",
     kCounter,
     {"route", "target"},
     "Prompt tokens found in the KV cache, as the replicas report them."},
    {Metric::kPredictedCachedTokens,
     "rolter_predicted_cached_tokens_total",
     kCounter,
     {"route", "target"},
     "Prompt tokens expected in the KV cache, of answers whose usage is known."},
    {Metric::kCompletionTokens,
     "rolter_completion_tokens_total",
     kCounter,
     {"route", "target"},
     "Generated tokens, as the replicas report them."},

    {Metric::kDecisions,
     "rolter_decisions_total",
     kCounter,
     {"route", "reason"},
     "Picks, by the reason the target was chosen for."},
    {Metric::kMatchedFraction,
     "rolter_matched_fraction",
     kHistogram,
     {"route"},
     "Part of the prompt, 0 to 1, that the chosen target is believed to hold."},
    {Metric::kFallbacks,
     "rolter_fallbacks_total",
     kCounter,
     {"route", "cause"},
     "Requests that were not routed as the strategy would have it, by cause."},
    {Metric::kQueueWaiting,
     "rolter_queue_waiting",
     kGauge,
     {"route"},
     "Requests that wait for a target below its cap."},
    {Metric::kQueueRefused,
     "rolter_queue_refused_total",
     kCounter,
     {"route", "cause"},
     "Requests refused because the queue was full or they had waited too long."},
    {Metric::kHeartbeats,
     "rolter_heartbeats_total",
     kCounter,
     {"route"},
     "Comments sent to clients that wait for the first byte of a stream."},
    {Metric::kRequestBytes,
     "rolter_request_bytes_total",
     kCounter,
     {"route"},
     "Bytes of request bodies received."},
    {Metric::kResponseBytes,
     "rolter_response_bytes_total",
     kCounter,
     {"route"},
     "Bytes of response bodies sent."},
    {Metric::kIndexNodes,
     "rolter_index_nodes",
     kGauge,
     {"route", "target"},
     "Marks that the prefix tree holds for the target."},
    {Metric::kIndexBytes,
     "rolter_index_bytes",
     kGauge,
     {"route"},
     "Memory of the route's prefix tree."},
    {Metric::kIndexEvictions,
     "rolter_index_evictions_total",
     kCounter,
     {"route"},
     "Prompts that left the prefix tree to stay within its bounds."},

    {Metric::kCooldownsTripped,
     "rolter_cooldowns_tripped_total",
     kCounter,
     {"target"},
     "Times the provider was left alone for a while."},
    {Metric::kBreakerOpened,
     "rolter_breaker_opened_total",
     kCounter,
     {"target"},
     "Times the provider's circuit breaker opened."},
    {Metric::kProbes,
     "rolter_health_probes_total",
     kCounter,
     {"target", "result"},
     "Health probes, by what they found."},
    {Metric::kReplicaEligible,
     "rolter_target_eligible",
     kGauge,
     {"target"},
     "1 when the provider may be picked, 0 when it is down, cooling, open or drained."},
    {Metric::kReplicaQueueDepth,
     "rolter_target_queue_depth",
     kGauge,
     {"target"},
     "Requests running and waiting at the provider as scraped, and those sent since; absent when "
     "unknown."},
    {Metric::kReplicaKvUsage,
     "rolter_target_kv_usage_ratio",
     kGauge,
     {"target"},
     "Share of the provider's KV blocks in use, as scraped; absent when unknown."},
    {Metric::kLmcacheOccupancy,
     "rolter_lmcache_occupancy_ratio",
     kGauge,
     {"target"},
     "Share of the provider's LMCache in use; absent when unknown."},
    {Metric::kKvBlocks,
     "rolter_kv_blocks",
     kGauge,
     {"target"},
     "Blocks that the block index holds for the provider."},
    {Metric::kKvStreamState,
     "rolter_kv_stream_state",
     kGauge,
     {"target"},
     "State of the KV-event stream: 0 none, 1 connecting, 2 catching up, 3 live, 4 stale, "
     "5 partial; of several ranks, the one to worry about most."},
    {Metric::kKvStreamLag,
     "rolter_kv_stream_lag_seconds",
     kGauge,
     {"target"},
     "Age of the newest live batch of KV events when it was applied."},
    {Metric::kKvEvents,
     "rolter_kv_events_total",
     kCounter,
     {"target", "kind"},
     "Blocks stored and removed, and clears, as KV events told of them."},
    {Metric::kKvIncidents,
     "rolter_kv_incidents_total",
     kCounter,
     {"target", "kind"},
     "What befell the KV-event stream, by kind."},

    {Metric::kKeyRequests,
     "rolter_key_requests_total",
     kCounter,
     {"key"},
     "Requests, by the name of the virtual key."},
    {Metric::kKeyTokens,
     "rolter_key_tokens_total",
     kCounter,
     {"key", "kind"},
     "Tokens, by the name of the virtual key: prompt, cached (a part of them), completion."},

    {Metric::kClientDisconnects,
     "rolter_client_disconnects_total",
     kCounter,
     {},
     "Requests whose client left before the answer was complete."},
    {Metric::kClientConnections,
     "rolter_client_connections",
     kGauge,
     {},
     "Open connections of clients."},
    {Metric::kRequestBuffers,
     "rolter_request_buffer_bytes",
     kGauge,
     {},
     "Bytes of requests larger than 64 KiB that are held now, at most max_buffered_bytes."},
    {Metric::kUpstreamConnections,
     "rolter_upstream_connections",
     kGauge,
     {"state"},
     "Open connections to replicas: busy or idle."},
    {Metric::kConfigVersion,
     "rolter_config_version",
     kGauge,
     {},
     "Number of the configuration that serves: 1 at start, one more with each reload."},
    {Metric::kConfigReloads,
     "rolter_config_reloads_total",
     kCounter,
     {"result"},
     "Reloads, by result: applied or refused."},
    {Metric::kLoopLag,
     "rolter_loop_lag_seconds",
     kHistogram,
     {},
     "Time by which the event loops were late for a timer."},
    {Metric::kLogLinesDropped,
     "rolter_log_lines_dropped_total",
     kCounter,
     {},
     "Log lines dropped because the log could not be written as fast."},
    {Metric::kBuildInfo,
     "rolter_build_info",
     kGauge,
     {"version", "commit"},
     "Always 1; says what is running."},
}};

constexpr bool catalogue_is_in_order() {
  for (std::size_t i = 0; i < kCatalogue.size(); ++i) {
    if (static_cast<std::size_t>(kCatalogue[i].metric) != i) {
      return false;
    }
  }
  return true;
}
static_assert(catalogue_is_in_order());

}  // namespace

std::size_t MetricDefinition::label_count() const {
  return static_cast<std::size_t>(std::ranges::find(labels, "") - labels.begin());
}

std::span<const MetricDefinition> metric_catalogue() {
  return kCatalogue;
}

const MetricDefinition& definition(Metric metric) {
  return kCatalogue.at(static_cast<std::size_t>(metric));
}

std::string_view to_string(MetricType type) {
  switch (type) {
    case kCounter:
      return "counter";
    case kGauge:
      return "gauge";
    case kHistogram:
      return "histogram";
  }
  return "gauge";
}

}  // namespace rolter::telemetry
