#include "rolter/proxy/state_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "rolter/balance/strategies.h"
#include "rolter/proxy/egress_check.h"

namespace rolter::proxy {
namespace {

std::string host_field(const config::Url& url) {
  const bool v6 = url.host.find(':') != std::string::npos;
  const std::string host = v6 ? fmt::format("[{}]", url.host) : url.host;
  const std::uint16_t usual = url.tls ? 443 : 80;
  return url.port == usual ? fmt::format("Host: {}\r\n", host)
                           : fmt::format("Host: {}:{}\r\n", host, url.port);
}

/// A size of 0 is no limit of its own: then what all requests together may hold is the limit.
http::ServerLimits server_limits(const config::Config& config) {
  const std::size_t most = config.server.max_buffered_bytes;
  const auto limit = [most](std::size_t bytes) {
    return bytes == 0 ? most : std::min(bytes, most);
  };
  return {.head = {.max_bytes = limit(config.server.max_head_bytes),
                   .max_fields = config.server.max_head_fields,
                   .max_token_ids_bytes = config.server.max_token_ids_bytes},
          .max_body_bytes = limit(config.server.max_body_bytes),
          .max_buffered_bytes = most,
          .head_timeout = config.timeouts.client_head,
          .body_timeout = config.timeouts.client_body,
          .idle_timeout = config.timeouts.client_idle};
}

telemetry::LayoutNames metric_names(const GatewayState& state) {
  telemetry::LayoutNames names;
  for (std::size_t i = 0; i < state.config.routes.size(); ++i) {
    telemetry::RouteNames& route = names.routes.emplace_back();
    route.route = state.config.routes[i].model;
    for (const cluster::RouteTarget& target : state.cluster->routes[i].targets) {
      route.targets.push_back(target.label);
    }
  }
  for (const config::Provider& provider : state.config.providers) {
    names.providers.push_back(provider.name);
  }
  for (const config::VirtualKey& key : state.config.virtual_keys) {
    names.keys.push_back(key.name);
  }
  return names;
}

void name_routes(GatewayState& state) {
  for (std::size_t i = 0; i < state.config.routes.size(); ++i) {
    const config::Route& route = state.config.routes[i];
    state.route_by_model.emplace(route.model, i);
    for (const std::string& alias : route.aliases) {
      if (alias == "*") {
        state.catch_all = i;
      } else {
        state.route_by_model.emplace(alias, i);
      }
    }
  }
}

}  // namespace

Provider StateBuilder::make_provider(const config::Provider& provider, const config::Config& config,
                                     std::shared_ptr<const http::TlsContext> tls) {
  const config::Url& url = provider.api_base;
  Provider made{.name = provider.name,
                .host_field = host_field(url),
                .base_path = url.base_path,
                .own_fields = {},
                .replaces_authorization = !provider.api_key.empty(),
                .addresses = addresses_.cell(url.host, url.port),
                .egress = egress_check(config.egress, url.host)};
  if (url.tls) {
    made.tls = {tls, url.host};
  }
  if (!provider.api_key.empty()) {
    made.own_fields += fmt::format("Authorization: Bearer {}\r\n", provider.api_key.reveal());
  }
  if (provider.lmcache) {
    const config::Url& endpoint = provider.lmcache->endpoint;
    made.lmcache = SideServer{.host_field = host_field(endpoint),
                              .addresses = addresses_.cell(endpoint.host, endpoint.port),
                              .egress = egress_check(config.egress, endpoint.host)};
    if (endpoint.tls) {
      made.lmcache->tls = {tls, endpoint.host};
    }
  }
  for (const auto& [name, value] : provider.headers) {
    made.own_fields += fmt::format("{}: {}\r\n", name, value.reveal());
  }
  return made;
}

std::unique_ptr<balance::Strategy> StateBuilder::make_strategy(
    const config::Route& route, const std::vector<cluster::RouteTarget>& targets) const {
  balance::StrategyParts parts{.route = route,
                               .targets = targets,
                               .trees = trees_,
                               .sessions = sessions_,
                               .residency = residency_,
                               .queues = prefills_};
  if (const Route* before = last_ ? last_->find_named(route.model) : nullptr) {
    parts.before = before->strategy.get();
  }
  if (auto strategy = balance::make_strategy(parts)) {
    return strategy;
  }
  // Accepted by the configuration, whose check has said that it is without effect: by load.
  config::Route by_load = route;
  by_load.strategy = config::StrategyKind::kLeastLoad;
  return balance::make_strategy({.route = by_load,
                                 .targets = targets,
                                 .trees = trees_,
                                 .sessions = sessions_,
                                 .residency = residency_});
}

std::vector<std::unique_ptr<balance::Shadow>> StateBuilder::make_shadows(
    const config::Route& route, const std::vector<cluster::RouteTarget>& targets) {
  std::vector<std::unique_ptr<balance::Shadow>> shadows;
  const Route* const before = last_ ? last_->find_named(route.model) : nullptr;
  for (const config::StrategyKind kind : route.shadow) {
    auto& memory = shadows_[{route.model, kind}];
    if (!memory) {
      memory = std::make_shared<balance::ShadowMemory>();
    }
    balance::Shadow::Parts parts{
        .route = route, .kind = kind, .targets = targets, .real_trees = trees_, .memory = memory};
    if (before != nullptr) {
      const auto same =
          std::ranges::find(before->shadows, kind, [](const auto& one) { return one->kind(); });
      parts.before = same == before->shadows.end() ? nullptr : &(*same)->strategy();
    }
    shadows.push_back(std::make_unique<balance::Shadow>(parts));
  }
  return shadows;
}

void StateBuilder::keep_shadows_of(const GatewayState& state) {
  std::erase_if(shadows_, [&state](const auto& shadow) {
    const auto& [model, kind] = shadow.first;
    const auto route = std::ranges::find(state.config.routes, model, &config::Route::model);
    return route == state.config.routes.end() ||
           std::ranges::find(route->shadow, kind) == route->shadow.end();
  });
}

StateBuilder::Built StateBuilder::build(config::Config config, TlsFiles tls, TimePoint now) {
  auto applied = replicas_.apply(config, now);
  trees_.apply(balance::prefix_tree_demands(config));
  for (const ReplicaSlot slot : applied.added) {
    trees_.remove_replica(slot);
    for (const auto& [name, memory] : shadows_) {
      memory->remove_replica(slot);
    }
  }
  sessions_.apply(balance::session_table_demands(config));
  residency_->learned.set_max_bytes(balance::learned_chains_bytes(config));
  queues_.apply(config);
  auto state = std::make_shared<GatewayState>();
  state->version = last_ ? last_->version + 1 : 1;
  state->digest_seed = ~key_seed_;
  state->keys = std::make_unique<const admission::KeyRing>(config, key_seed_,
                                                           last_ ? last_->keys.get() : nullptr);
  state->cluster = std::move(applied.view);
  state->retry_policy = cluster::RetryPolicy(config.retry, config.timeouts);
  state->limits = server_limits(config);
  state->log_format =
      telemetry::parse_log_format(config.log.format).value_or(telemetry::LogFormat::kJson);
  state->config = std::move(config);
  state->server_tls = std::move(tls.server);
  for (std::size_t i = 0; i < state->config.providers.size(); ++i) {
    state->providers.push_back(
        make_provider(state->config.providers[i], state->config, std::move(tls.clients[i])));
  }
  name_routes(*state);
  for (std::size_t i = 0; i < state->config.routes.size(); ++i) {
    const config::Route& route = state->config.routes[i];
    Route& made = state->routes.emplace_back();
    made.index = i;
    made.model = route.model;
    made.queue = queues_.find(route.model);
    made.strategy = make_strategy(route, state->cluster->routes[i].targets);
    made.shadows = make_shadows(route, state->cluster->routes[i].targets);
    if (const auto fallback = state->route_by_model.find(route.fallback);
        !route.fallback.empty() && fallback != state->route_by_model.end()) {
      made.fallback = fallback->second;
    }
  }
  keep_shadows_of(*state);
  state->metrics = metrics_.apply(metric_names(*state));
  last_ = state;
  return {std::move(state), std::move(applied.removed)};
}

void StateBuilder::forget(const std::vector<ReplicaSlot>& removed) {
  for (const ReplicaSlot slot : removed) {
    trees_.remove_replica(slot);
    prefills_->forget_speed(slot);
    for (const auto& [name, memory] : shadows_) {
      memory->remove_replica(slot);
    }
    replicas_.release(slot);
  }
}

}  // namespace rolter::proxy
