#include "rolter/admin/config_view.h"

#include <chrono>
#include <span>
#include <string>
#include <string_view>

#include "rolter/config/names.h"
#include "rolter/config/url.h"

namespace rolter::admin {
namespace {

using openai::JsonWriter;

void secs(JsonWriter& json, std::string_view key, config::milliseconds value) {
  json.decimal(key, std::chrono::duration<double>(value).count());
}

void secret(JsonWriter& json, std::string_view key, const config::Secret& value) {
  json.text(key, value.empty() ? "" : "***");
}

void texts(JsonWriter& json, std::string_view key, std::span<const std::string> values) {
  json.array(key);
  for (const std::string& value : values) {
    json.text({}, value);
  }
  json.end();
}

/// A query may hold a token.
std::string url_text(const config::Url& url) {
  const std::string text = config::to_string(url);
  const std::size_t query = text.find('?');
  return query == std::string::npos ? text : text.substr(0, query) + "?***";
}

std::string_view format_name(config::LmcacheFormat format) {
  switch (format) {
    case config::LmcacheFormat::kJson:
      return "json";
    case config::LmcacheFormat::kPrometheus:
      return "prometheus";
    case config::LmcacheFormat::kLmcacheStatus:
      return "lmcache_status";
  }
  return "json";
}

void write_server(const config::Server& server, JsonWriter& json) {
  json.object("server")
      .text("host", server.host)
      .number("port", server.port)
      .text("metrics_path", server.metrics_path)
      .number("max_body_bytes", server.max_body_bytes)
      .number("max_head_bytes", server.max_head_bytes)
      .number("max_head_fields", server.max_head_fields)
      .number("max_token_ids_bytes", server.max_token_ids_bytes)
      .number("loops", server.loops);
  secs(json, "drain_settle_secs", server.drain_settle);
  secs(json, "drain_secs", server.drain);
  json.number("max_connections", server.max_connections);
  json.number("max_buffered_bytes", server.max_buffered_bytes);
  if (server.tls) {
    json.object("tls").text("cert", server.tls->cert).text("key", server.tls->key).end();
  }
  json.end();
}

void write_key(const config::VirtualKey& key, JsonWriter& json) {
  json.object().text("name", key.name);
  secret(json, "key", key.key);
  texts(json, "models", key.models);
  json.flag("disabled", key.disabled);
  if (key.expires_at) {
    json.number("expires_at",
                static_cast<std::uint64_t>(std::chrono::system_clock::to_time_t(*key.expires_at)));
  }
  json.number("requests_per_minute", key.requests_per_minute)
      .number("tokens_per_minute", key.tokens_per_minute)
      .number("max_in_flight", key.max_in_flight)
      .end();
}

void write_kv_events(const config::KvEvents& events, JsonWriter& json) {
  json.object("kv_events")
      .text("endpoint", events.endpoint)
      .text("replay_endpoint", events.replay_endpoint)
      .text("topic", events.topic)
      .flag("discover", events.discover)
      .number("max_blocks", events.max_blocks);
  secs(json, "stale_secs", events.stale);
  json.number("block_size", events.block_size).number("dp_size", events.dp_size).end();
}

void write_provider(const config::Provider& provider, JsonWriter& json) {
  json.object()
      .text("name", provider.name)
      .text("kind", provider.kind)
      .text("api_base", url_text(provider.api_base));
  secret(json, "api_key", provider.api_key);
  texts(json, "ca_bundles", provider.ca_bundles);
  json.object("headers");
  for (const auto& [name, value] : provider.headers) {
    secret(json, name, value);  // a field's name is a token: nothing to escape
  }
  json.end();
  secs(json, "resolve_secs", provider.resolve);
  if (provider.kv_events) {
    write_kv_events(*provider.kv_events, json);
  }
  if (const auto& lmcache = provider.lmcache) {
    json.object("lmcache").text("endpoint", url_text(lmcache->endpoint));
    secs(json, "refresh_secs", lmcache->refresh);
    secs(json, "stale_secs", lmcache->stale);
    json.text("format", format_name(lmcache->format)).end();
  }
  json.end();
}

void write_route_rules(const config::Route& route, JsonWriter& json) {
  json.decimal("threshold", route.threshold)
      .number("min_match_bytes", route.min_match_bytes)
      .number("overload_abs", route.overload_abs)
      .decimal("overload_rel", route.overload_rel)
      .number("max_nodes", route.max_nodes)
      .number("max_index_bytes", route.max_index_bytes)
      .flag("record_replies", route.record_replies);
  secs(json, "session_ttl_secs", route.session_ttl);
  json.number("max_sessions", route.max_sessions);
  secs(json, "slow_start_secs", route.slow_start);
  json.flag("optimistic", route.optimistic)
      .flag("tag_requests", route.tag_requests)
      .text("tokenize", route.tokenize_learn ? "learn" : "off")
      .decimal("miss_weight", route.miss_weight)
      .flag("ask_usage", route.ask_usage)
      .text("fallback_score", route.fallback_score_prefix ? "prefix" : "none");
  json.array("shadow");
  for (const config::StrategyKind kind : route.shadow) {
    json.text({}, config::to_string(kind));
  }
  json.end().number("queue_capacity", route.queue.capacity);
  secs(json, "queue_timeout_secs", route.queue.timeout);
}

void write_weights(const config::RouteWeights& weights, JsonWriter& json) {
  json.object("weights")
      .decimal("weight", weights.weight)
      .decimal("prefix", weights.prefix)
      .decimal("precise", weights.precise)
      .decimal("lmcache", weights.lmcache);
  if (weights.load) {
    json.decimal("load", *weights.load);
  } else {
    json.null("load");
  }
  json.end();
}

void write_route(const config::Route& route, const config::Config& config, JsonWriter& json) {
  json.object().text("model", route.model);
  texts(json, "aliases", route.aliases);
  json.text("strategy", config::to_string(route.strategy)).text("fallback", route.fallback);
  write_route_rules(route, json);
  write_weights(route.weights, json);
  json.array("targets");
  for (const config::RouteTarget& target : route.targets) {
    json.object()
        .text("provider", config.providers[target.provider].name)
        .text("model", target.model)
        .decimal("weight", target.weight)
        .number("max_in_flight", target.max_in_flight)
        .end();
  }
  json.end().end();
}

void write_traffic_rules(const config::Config& config, JsonWriter& json) {
  json.object("queue").number("capacity", config.queue.capacity);
  secs(json, "timeout_secs", config.queue.timeout);
  json.end()
      .object("retry")
      .number("max_retries", config.retry.max_retries)
      .number("base_backoff_ms", static_cast<std::uint64_t>(config.retry.base_backoff.count()))
      .number("max_backoff_ms", static_cast<std::uint64_t>(config.retry.max_backoff.count()))
      .decimal("budget", config.retry.budget)
      .end()
      .object("cooldown");
  secs(json, "base_secs", config.cooldown.base);
  secs(json, "max_secs", config.cooldown.max);
  json.end().object("timeouts");
  secs(json, "connect_secs", config.timeouts.connect);
  if (config.timeouts.request) {
    secs(json, "request_secs", *config.timeouts.request);
  } else {
    json.null("request_secs");
  }
  secs(json, "idle_secs", config.timeouts.idle);
  secs(json, "heartbeat_secs", config.timeouts.heartbeat);
  secs(json, "client_head_secs", config.timeouts.client_head);
  secs(json, "client_body_secs", config.timeouts.client_body);
  secs(json, "client_idle_secs", config.timeouts.client_idle);
  json.end();
}

void write_watching(const config::Config& config, JsonWriter& json) {
  json.object("health").flag("enabled", config.health.enabled);
  secs(json, "interval_secs", config.health.interval);
  secs(json, "timeout_secs", config.health.timeout);
  json.text("path", config.health.path)
      .number("fail_after", config.health.fail_after)
      .number("pass_after", config.health.pass_after)
      .end()
      .object("breaker")
      .flag("enabled", config.breaker.enabled)
      .number("failure_threshold", config.breaker.failure_threshold);
  secs(json, "open_secs", config.breaker.open);
  json.end().object("metrics_scrape").flag("enabled", config.metrics_scrape.enabled);
  secs(json, "interval_secs", config.metrics_scrape.interval);
  secs(json, "timeout_secs", config.metrics_scrape.timeout);
  json.text("path", config.metrics_scrape.path).end();
}

void write_process(const config::Config& config, JsonWriter& json) {
  json.object("log")
      .text("level", config.log.level)
      .text("format", config.log.format)
      .flag("access", config.log.access)
      .flag("prompts", config.log.prompts)
      .flag("blocks", config.log.blocks)
      .end()
      .object("auth")
      .text("mode", config.auth == config::AuthMode::kKeys ? "keys" : "open")
      .end()
      .object("egress")
      .flag("block_link_local", config.egress.block_link_local)
      .flag("block_loopback", config.egress.block_loopback)
      .flag("block_private", config.egress.block_private);
  texts(json, "allow_hosts", config.egress.allow_hosts);
  json.end().object("admin").text("host", config.admin.host).number("port", config.admin.port);
  secret(json, "token", config.admin.token);
  json.end()
      .object("index")
      .text("save_path", config.index.save_path)
      .number("tokenize_per_sec", config.index.tokenize_per_second)
      .end();
}

}  // namespace

void write_config(const config::Config& config, JsonWriter& json) {
  json.object("config");
  write_server(config.server, json);
  write_process(config, json);
  json.array("virtual_keys");
  for (const config::VirtualKey& key : config.virtual_keys) {
    write_key(key, json);
  }
  json.end().array("providers");
  for (const config::Provider& provider : config.providers) {
    write_provider(provider, json);
  }
  json.end().array("routes");
  for (const config::Route& route : config.routes) {
    write_route(route, config, json);
  }
  json.end();
  write_traffic_rules(config, json);
  write_watching(config, json);
  json.end();
}

}  // namespace rolter::admin
