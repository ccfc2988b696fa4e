#include "rolter/runtime/loop_recorder.h"

#include <algorithm>
#include <chrono>

#include "rolter/runtime/control_feeds.h"
#include "rolter/runtime/vocabulary.h"

namespace rolter::runtime {
namespace {

constexpr Duration kExpectInterval = std::chrono::seconds{1};

double milliseconds(Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

const telemetry::RouteMetrics& route_metrics(const proxy::GatewayState& state, std::size_t route) {
  const telemetry::MetricsLayout& layout = *state.metrics;
  return route == proxy::kNoRoute ? layout.unknown_route : layout.routes[route];
}

}  // namespace

void LoopRecorder::loop_was_late(Duration lag) {
  counters_.lag_seconds.observe(std::chrono::duration<double>(lag).count());
}

void LoopRecorder::request_ended(const proxy::GatewayState& state,
                                 const proxy::RequestFacts& facts) {
  if (facts.client_gone) {
    counters_.client_disconnects.add();
  }
  if (state.config.log.access) {
    write_access_line(state, facts);
  }
  if (!facts.endpoint) {
    return;
  }
  const telemetry::RouteMetrics& route = route_metrics(state, facts.route);
  telemetry::TargetCounters& target =
      (facts.sent ? route.targets[facts.target] : route.no_target)->on(loop_);
  target.answered(facts.status == 0 ? 499 : facts.status);
  target.latency_ms.observe(milliseconds(facts.duration));
  if (facts.ttft) {
    target.ttft_ms.observe(milliseconds(*facts.ttft));
  }
  target.retries.add(facts.retries);
  if (facts.usage) {
    target.prompt_tokens.add(facts.usage->prompt_tokens);
    target.completion_tokens.add(facts.usage->completion_tokens);
    if (facts.usage->cached_tokens) {
      // Of the same requests, or they could not be compared.
      const std::uint64_t predicted = proxy::predicted_cached_tokens(facts).value_or(0);
      target.cached_tokens.add(*facts.usage->cached_tokens);
      target.predicted_cached_tokens.add(predicted);
      target.foreseen_cached_tokens.add(std::min(predicted, *facts.usage->cached_tokens));
    }
    if (const auto verdict = proxy::judge_prediction(facts)) {
      target
          .predictions[static_cast<std::size_t>(facts.decision.source)]
                      [static_cast<std::size_t>(*verdict)]
          .add();
    }
  }
  telemetry::RouteCounters& counters = route.route->on(loop_);
  counters.request_bytes.add(facts.bytes_in);
  counters.response_bytes.add(facts.bytes_out);
  counters.heartbeats.add(facts.heartbeats);
  count_key(state, facts);
  if (facts.sent) {
    decisions_.add(state, facts, clock_.wall_now());
    counters.decisions[static_cast<std::size_t>(facts.decision.reason)].add();
    counters.matched.observe(facts.decision.matched);
    expect_kv_event(state, facts);
  }
}

/// A prompt that was not cached has stored blocks, of which the replica's events must tell.
void LoopRecorder::expect_kv_event(const proxy::GatewayState& state,
                                   const proxy::RequestFacts& facts) {
  const std::size_t provider = state.config.routes[facts.route].targets[facts.target].provider;
  if (!state.config.providers[provider].kv_events || !facts.usage || !facts.usage->cached_tokens ||
      *facts.usage->cached_tokens >= facts.usage->prompt_tokens) {
    return;
  }
  const ReplicaSlot slot = state.cluster->replicas[provider]->slot();
  const TimePoint now = clock_.now();
  if (event_expected_at_.size() <= to_index(slot)) {
    event_expected_at_.resize(to_index(slot) + std::size_t{1});
  }
  // Now and then is enough to notice an engine whose events have stopped.
  if (now - event_expected_at_[to_index(slot)] >= kExpectInterval) {
    event_expected_at_[to_index(slot)] = now;
    kv_events_.expect_event(slot, facts.usage->prompt_tokens - *facts.usage->cached_tokens,
                            facts.started);
  }
}

void LoopRecorder::count_key(const proxy::GatewayState& state, const proxy::RequestFacts& facts) {
  if (facts.key_name.empty()) {
    return;
  }
  const auto& keys = state.metrics->keys;
  const auto key = std::ranges::find_if(
      keys, [&](const auto& series) { return series->label() == facts.key_name; });
  if (key == keys.end()) {
    return;
  }
  telemetry::KeyCounters& counters = (*key)->on(loop_);
  counters.requests.add();
  if (facts.usage) {
    counters.prompt_tokens.add(facts.usage->prompt_tokens);
    counters.cached_tokens.add(facts.usage->cached_tokens.value_or(0));
    counters.completion_tokens.add(facts.usage->completion_tokens);
  }
}

void LoopRecorder::write_access_line(const proxy::GatewayState& state,
                                     const proxy::RequestFacts& facts) {
  const bool routed = facts.route != proxy::kNoRoute;
  const bool picked = !facts.target_label.empty();
  const bool traced = !facts.prompt_blocks.empty();
  access_log_.set_format(state.log_format);
  access_log_.write(
      {.time = clock_.wall_now(),
       .request_id = facts.request_id,
       .trace_id = facts.trace_id,
       .client = facts.client,
       .method = facts.method,
       .path = facts.path,
       .route = routed ? std::string_view(state.routes[facts.route].model) : std::string_view(),
       .target = facts.target_label,
       .reason = picked ? to_string(facts.decision.reason) : std::string_view(),
       .source = picked && facts.decision.source != balance::Source::kNone
                     ? to_string(facts.decision.source)
                     : std::string_view(),
       .key = facts.key_name,
       .error = facts.error,
       .blocks = facts.prompt_blocks,
       .matched = picked ? std::optional(facts.decision.matched) : std::nullopt,
       .status = facts.status == 0 ? 499 : facts.status,
       .retries = facts.retries,
       .bytes_in = facts.bytes_in,
       .bytes_out = facts.bytes_out,
       .ttft = facts.ttft,
       .duration = facts.duration,
       .prompt_bytes = traced ? std::optional(facts.prompt_bytes) : std::nullopt,
       .prompt_tokens =
           traced && facts.usage ? std::optional(facts.usage->prompt_tokens) : std::nullopt,
       .cached_tokens = traced && facts.usage ? facts.usage->cached_tokens : std::nullopt,
       .completion_tokens =
           traced && facts.usage ? std::optional(facts.usage->completion_tokens) : std::nullopt});
}

void LoopRecorder::replica_changed(const proxy::GatewayState& state, std::size_t provider,
                                   const cluster::Transition& change) {
  count_transition(state.metrics->providers[provider]->on(loop_), change);
  app_log_.warn("provider {}: {}", state.providers[provider].name, cluster::describe(change));
  if (change.restarted) {
    losses_.seen(state.providers[provider].name, kSeenByPort);
  }
}

void LoopRecorder::attempt_failed(const proxy::GatewayState& state, std::size_t route,
                                  std::size_t target, cluster::Outcome outcome,
                                  std::string_view why) {
  auto& counters = route_metrics(state, route).targets[target]->on(loop_);
  counters.errors[static_cast<std::size_t>(outcome)].add();
  const auto& failed = state.cluster->routes[route].targets[target];
  decisions_.note_error(state.providers[failed.provider].name, why, clock_.wall_now());
  app_log_.warn("{}: {} ({})", state.cluster->routes[route].targets[target].label, why,
                cluster::to_string(outcome));
}

void LoopRecorder::queue_refused(const proxy::GatewayState& state, std::size_t route,
                                 proxy::QueueRefusal why) {
  telemetry::RouteCounters& counters = route_metrics(state, route).route->on(loop_);
  (why == proxy::QueueRefusal::kFull ? counters.queue_full : counters.queue_timed_out).add();
}

void LoopRecorder::failed_open(const proxy::GatewayState& state, std::size_t route) {
  route_metrics(state, route).route->on(loop_).fallbacks[kFailOpenWord].add();
  app_log_.warn("route {}: no target is eligible, all that are not drained are tried",
                state.routes[route].model);
}

void LoopRecorder::fell_back(const proxy::GatewayState& state, std::size_t route) {
  route_metrics(state, route).route->on(loop_).fallbacks[kFallbackRouteWord].add();
}

void LoopRecorder::bad_token_ids(const proxy::GatewayState& state, std::size_t route) {
  route_metrics(state, route).route->on(loop_).fallbacks[kBadTokenIdsWord].add();
}

}  // namespace rolter::runtime
