// What /metrics shows of the gateway as a whole, read when somebody asks.
#include <set>
#include <string_view>

#include "rolter/config/names.h"
#include "rolter/runtime/gateway.h"

namespace rolter::runtime {

void Gateway::collect_indexes(const proxy::GatewayState& state, telemetry::ScrapeSink& sink) {
  for (std::size_t i = 0; i < state.routes.size(); ++i) {
    std::set<std::string_view> models;
    double bytes = 0;
    double evicted = 0;
    for (const cluster::RouteTarget& target : state.cluster->routes[i].targets) {
      const auto tree = builder_.trees().find(target.model);
      if (!tree) {
        continue;
      }
      sink.set(telemetry::Metric::kIndexNodes, {state.routes[i].model, target.label},
               static_cast<double>(tree->held_nodes(target.replica->slot())));
      if (const std::size_t learned = tree->learned_bytes(target.replica->slot()); learned > 0) {
        sink.set(telemetry::Metric::kIndexLearnedBytes, {state.routes[i].model, target.label},
                 static_cast<double>(learned));
      }
      if (models.insert(target.model).second) {
        const kvcache::PrefixTreeStats stats = tree->stats();
        bytes += static_cast<double>(stats.index_bytes);
        evicted += static_cast<double>(stats.evicted_prompts);
      }
    }
    if (!models.empty()) {
      sink.set(telemetry::Metric::kIndexBytes, {state.routes[i].model}, bytes);
      sink.set(telemetry::Metric::kIndexEvictions, {state.routes[i].model}, evicted);
    }
  }
}

void Gateway::collect_learned_chains(telemetry::ScrapeSink& sink) {
  using telemetry::Metric;
  const kvcache::LearnedChains::Stats stats = builder_.residency()->learned.stats();
  const auto set = [&sink](Metric metric, std::string_view kind, auto value) {
    sink.set(metric, {kind}, static_cast<double>(value));
  };
  set(Metric::kLearnedChains, "prompts", stats.tree.prompts);
  set(Metric::kLearnedChains, "blocks", stats.tree.blocks);
  set(Metric::kLearnedChains, "bytes", stats.tree.bytes);
  set(Metric::kLearnedChains, "requests", stats.under_way);
  set(Metric::kLearnedChains, "distrusted_routes", stats.distrusted);
  set(Metric::kLearnedChainEvents, "learned", stats.learned);
  set(Metric::kLearnedChainEvents, "tokenized", stats.tokenized);
  set(Metric::kLearnedChainEvents, "not_tokenized",
      shared_->unlearned.refused() + tokenizing_.failed());
  set(Metric::kLearnedChainEvents, "evicted", stats.tree.evicted);
  set(Metric::kLearnedChainEvents, "shared_session", stats.ambiguous);
  set(Metric::kLearnedChainEvents, "unknown_parent", stats.unlinked);
  set(Metric::kLearnedChainEvents, "no_room", stats.refused);
}

void Gateway::collect_shadows(const proxy::GatewayState& state, telemetry::ScrapeSink& sink) {
  for (const proxy::Route& route : state.routes) {
    for (const auto& shadow : route.shadows) {
      const balance::ShadowFigures figures = shadow->figures();
      const auto set = [&](telemetry::Metric metric, std::uint64_t value) {
        sink.set(metric, {route.model, config::to_string(shadow->kind())},
                 static_cast<double>(value));
      };
      set(telemetry::Metric::kShadowRequests, figures.requests);
      set(telemetry::Metric::kShadowSameTarget, figures.same_target);
      set(telemetry::Metric::kShadowPromptTokens, figures.prompt_tokens);
      set(telemetry::Metric::kShadowCachedTokens, figures.cached_tokens);
    }
  }
}

void Gateway::collect(telemetry::ScrapeSink& sink) {
  const auto state = shared_->gateway.load();
  using telemetry::Metric;
  sink.set(Metric::kConfigVersion, {}, static_cast<double>(state->version));
  sink.set(Metric::kConfigReloads, {"applied"},
           static_cast<double>(reloads_applied_.load(std::memory_order_relaxed)));
  sink.set(Metric::kConfigReloads, {"refused"},
           static_cast<double>(reloads_refused_.load(std::memory_order_relaxed)));
  sink.set(Metric::kLogLinesDropped, {}, static_cast<double>(logs_.queue.dropped_lines()));
  sink.set(Metric::kClientConnections, {},
           static_cast<double>(shared_->open_connections.load(std::memory_order_relaxed)));
  sink.set(Metric::kRequestBuffers, {}, static_cast<double>(shared_->request_buffers.held()));
  collect_indexes(*state, sink);
  collect_learned_chains(sink);
  collect_shadows(*state, sink);
  const TimePoint now = clock_.now();
  for (std::size_t i = 0; i < state->routes.size(); ++i) {
    if (const auto& queue = state->routes[i].queue) {
      sink.set(Metric::kQueueWaiting, {state->routes[i].model},
               static_cast<double>(queue->waiting()));
    }
    for (const cluster::RouteTarget& target : state->cluster->routes[i].targets) {
      sink.set(Metric::kInFlight, {state->routes[i].model, target.label},
               target.load->in_flight.load(std::memory_order_relaxed));
    }
  }
  for (const auto& replica : state->cluster->replicas) {
    sink.set(Metric::kReplicaEligible, {replica->name()}, replica->eligible(now) ? 1 : 0);
    if (const auto depth = replica->queued(now)) {
      sink.set(Metric::kReplicaQueueDepth, {replica->name()}, *depth);
    }
    if (const auto usage = replica->kv_usage(now)) {
      sink.set(Metric::kReplicaKvUsage, {replica->name()}, *usage);
    }
    if (const auto reading = replica->lmcache(now)) {
      sink.set(Metric::kLmcacheOccupancy, {replica->name()}, reading->occupancy);
    }
  }
  kv_events_.collect(*state, sink);
}

}  // namespace rolter::runtime
