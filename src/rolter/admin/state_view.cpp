#include "rolter/admin/state_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "rolter/admin/config_view.h"
#include "rolter/admin/text_table.h"
#include "rolter/config/names.h"

namespace rolter::admin {
namespace {

using openai::JsonWriter;

double seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

void decimal_or_null(JsonWriter& json, std::string_view key, const std::optional<double>& value) {
  if (value) {
    json.decimal(key, *value);
  } else {
    json.null(key);
  }
}

std::string_view word(cluster::Breaker::State state) {
  switch (state) {
    case cluster::Breaker::State::kClosed:
      return "closed";
    case cluster::Breaker::State::kOpen:
      return "open";
    case cluster::Breaker::State::kHalfOpen:
      return "half_open";
  }
  return "closed";
}

void write_figures(const Figures& figures, const Pace& pace, JsonWriter& json) {
  json.number("requests_total", figures.requests)
      .number("upstream_errors_total", figures.errors)
      .number("prompt_tokens_total", figures.prompt_tokens)
      .number("cached_tokens_total", figures.cached_tokens)
      .number("predicted_cached_tokens_total", figures.predicted_tokens)
      .number("foreseen_cached_tokens_total", figures.foreseen_tokens)
      .number("completion_tokens_total", figures.completion_tokens)
      .decimal("requests_per_s", pace.requests_per_s);
  decimal_or_null(json, "ttft_p50_ms", pace.ttft_p50_ms);
  decimal_or_null(json, "ttft_p90_ms", pace.ttft_p90_ms);
  decimal_or_null(json, "token_hit_rate", pace.token_hit_rate);
  decimal_or_null(json, "prediction_precision", pace.precision);
  decimal_or_null(json, "prediction_recall", pace.recall);
}

std::uint64_t fleet_in_flight(const StateViewInput& in) {
  std::uint64_t sum = 0;
  for (const auto& replica : in.state.cluster->replicas) {
    sum += replica->in_flight();
  }
  return sum;
}

void write_fleet(const StateViewInput& in, JsonWriter& json) {
  json.object("fleet");
  write_figures(in.traffic.fleet(), in.traffic.fleet_pace(), json);
  json.number("in_flight", fleet_in_flight(in)).end();
  json.array("history");
  for (const Pace& pace : in.traffic.history()) {
    json.array().decimal({}, pace.requests_per_s);
    decimal_or_null(json, {}, pace.ttft_p50_ms);
    decimal_or_null(json, {}, pace.token_hit_rate);
    json.end();
  }
  json.end();
}

void write_provider(const StateViewInput& in, std::size_t index, JsonWriter& json) {
  const cluster::Replica& replica = *in.state.cluster->replicas[index];
  const cluster::ReplicaStatus status = replica.status(in.now);
  json.object()
      .text("provider", replica.name())
      .flag("eligible", status.why_not == cluster::WhyNot::kNone);
  if (status.why_not == cluster::WhyNot::kNone) {
    json.null("why_not");
  } else {
    json.text("why_not", cluster::to_string(status.why_not));
  }
  json.text("last_probe", cluster::to_string(status.last_probe))
      .text("breaker", word(status.breaker))
      .number("failures_in_a_row", status.failures_in_a_row)
      .decimal("cooling_secs", seconds(status.cooling_left))
      .flag("drained", status.drained)
      .number("in_flight", replica.in_flight());
  decimal_or_null(json, "queued", replica.queued(in.now));
  decimal_or_null(json, "kv_usage", replica.kv_usage(in.now));
  const auto lmcache = replica.lmcache(in.now);
  decimal_or_null(json, "lmcache_occupancy",
                  lmcache ? std::optional(lmcache->occupancy) : std::nullopt);
  const auto error = std::ranges::find(in.errors, replica.name(), &proxy::LastError::provider);
  if (error == in.errors.end()) {
    json.null("last_error");
  } else {
    json.text("last_error", error->text);
  }
  write_figures(in.traffic.provider(replica.name()), in.traffic.provider_pace(replica.name()),
                json);
  json.end();
}

void write_target(const StateViewInput& in, const cluster::RouteTarget& target, JsonWriter& json) {
  const cluster::WhyNot why = cluster::why_not(target, in.now);
  json.object()
      .text("provider", in.state.providers[target.provider].name)
      .text("model", target.model)
      .text("target", target.label)
      .decimal("weight", target.weight)
      .number("max_in_flight", target.cap)
      .number("in_flight", target.load->in_flight.load(std::memory_order_relaxed))
      .flag("eligible", why == cluster::WhyNot::kNone);
  if (why == cluster::WhyNot::kNone) {
    json.null("why_not");
  } else {
    json.text("why_not", cluster::to_string(why));
  }
  if (const auto tree = in.trees.find(target.model)) {
    json.number("index_nodes", tree->held_nodes(target.replica->slot()));
    if (const std::size_t learned = tree->learned_bytes(target.replica->slot()); learned > 0) {
      json.number("learned_bytes", learned);
    } else {
      json.null("learned_bytes");
    }
  }
  json.end();
}

void write_route(const StateViewInput& in, std::size_t index, JsonWriter& json) {
  const config::Route& route = in.state.config.routes[index];
  json.object().text("model", route.model).array("aliases");
  for (const std::string& alias : route.aliases) {
    json.text({}, alias);
  }
  json.end().text("strategy", config::to_string(route.strategy));
  json.array("targets");
  for (const cluster::RouteTarget& target : in.state.cluster->routes[index].targets) {
    write_target(in, target, json);
  }
  json.end().array("shadow");
  for (const auto& shadow : in.state.routes[index].shadows) {
    const balance::ShadowFigures figures = shadow->figures();
    json.object()
        .text("strategy", config::to_string(shadow->kind()))
        .number("requests_total", figures.requests)
        .number("same_target_total", figures.same_target)
        .number("prompt_tokens_total", figures.prompt_tokens)
        .number("cached_tokens_total", figures.cached_tokens)
        .end();
  }
  json.end().end();
}

std::string optional_text(const std::optional<double>& value, double scale,
                          std::string_view format) {
  return value ? fmt::format(fmt::runtime(format), *value * scale) : "-";
}

}  // namespace

std::string state_json(const StateViewInput& in, WithConfig with_config) {
  JsonWriter json;
  json.object()
      .number("version", in.state.version)
      .flag("ready", in.ready && !in.draining)
      .flag("draining", in.draining);
  write_fleet(in, json);
  json.array("providers");
  for (std::size_t i = 0; i < in.state.providers.size(); ++i) {
    write_provider(in, i, json);
  }
  json.end().array("routes");
  for (std::size_t i = 0; i < in.state.routes.size(); ++i) {
    write_route(in, i, json);
  }
  json.end();
  if (with_config == WithConfig::kYes) {
    write_config(in.state.config, json);
  }
  json.end();
  return json.take();
}

std::string state_text(const StateViewInput& in) {
  const Pace fleet = in.traffic.fleet_pace();
  std::string out = fmt::format(
      "{}  config version {}\n{:.1f} requests/s  {} in flight  TTFT p50 {} ms  p90 {} ms  token "
      "hit "
      "rate {} %\n\n",
      in.draining ? "draining"
      : in.ready  ? "ready"
                  : "starting",
      in.state.version, fleet.requests_per_s, fleet_in_flight(in),
      optional_text(fleet.ttft_p50_ms, 1, "{:.0f}"), optional_text(fleet.ttft_p90_ms, 1, "{:.0f}"),
      optional_text(fleet.token_hit_rate, 100, "{:.1f}"));
  TextTable table({"REPLICA", "STATE", "IN FLIGHT", "QUEUED", "REQ/S", "TTFT P50 MS", "P90 MS",
                   "HIT %", "PRECISION %", "REQUESTS", "ERRORS"});
  for (const auto& replica : in.state.cluster->replicas) {
    const Figures figures = in.traffic.provider(replica->name());
    const Pace pace = in.traffic.provider_pace(replica->name());
    table.add({replica->name(), std::string(cluster::to_string(replica->status(in.now).why_not)),
               fmt::format("{}", replica->in_flight()),
               optional_text(replica->queued(in.now), 1, "{:.0f}"),
               fmt::format("{:.1f}", pace.requests_per_s),
               optional_text(pace.ttft_p50_ms, 1, "{:.0f}"),
               optional_text(pace.ttft_p90_ms, 1, "{:.0f}"),
               optional_text(pace.token_hit_rate, 100, "{:.1f}"),
               optional_text(pace.precision, 100, "{:.1f}"), fmt::format("{}", figures.requests),
               fmt::format("{}", figures.errors)});
  }
  return out + table.text();
}

}  // namespace rolter::admin
