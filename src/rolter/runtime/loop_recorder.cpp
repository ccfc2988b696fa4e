#include "rolter/runtime/loop_recorder.h"

#include <spdlog/spdlog.h>

#include <chrono>

namespace rolter::runtime {
namespace {

double milliseconds(Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

telemetry::RouteMetrics& route_metrics(const proxy::GatewayState& state, std::size_t route) {
  // The layout is shared and constant; the counters behind its pointers are this loop's to write.
  auto& layout = const_cast<telemetry::MetricsLayout&>(*state.metrics);
  return route == proxy::kNoRoute ? layout.unknown_route : layout.routes[route];
}

}  // namespace

void LoopRecorder::request_ended(const proxy::GatewayState& state,
                                 const proxy::RequestFacts& facts) {
  if (facts.client_gone) {
    counters_->client_disconnects.add();
  }
  if (!facts.endpoint) {
    return;
  }
  telemetry::RouteMetrics& route = route_metrics(state, facts.route);
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
    target.cached_tokens.add(facts.usage->cached_tokens.value_or(0));
  }
  telemetry::RouteCounters& counters = route.route->on(loop_);
  counters.request_bytes.add(facts.bytes_in);
  counters.response_bytes.add(facts.bytes_out);
  if (facts.sent) {
    counters.decisions[static_cast<std::size_t>(facts.decision.reason)].add();
    counters.matched.observe(facts.decision.matched);
  }
}

void LoopRecorder::replica_changed(std::string_view provider, const cluster::Transition& change) {
  spdlog::warn("provider {}: {}", provider, cluster::describe(change));
}

void LoopRecorder::attempt_failed(const proxy::GatewayState& state, std::size_t route,
                                  std::size_t target, cluster::Outcome outcome,
                                  std::string_view why) {
  auto& counters = route_metrics(state, route).targets[target]->on(loop_);
  counters.errors[static_cast<std::size_t>(outcome)].add();
  spdlog::warn("{}: {} ({})", state.cluster->routes[route].targets[target].label, why,
               cluster::to_string(outcome));
}

void LoopRecorder::failed_open(const proxy::GatewayState& state, std::size_t route) {
  spdlog::warn("route {}: no target is eligible, all that are not drained are tried",
               state.routes[route].model);
}

}  // namespace rolter::runtime
