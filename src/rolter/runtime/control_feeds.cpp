#include "rolter/runtime/control_feeds.h"

#include <utility>
#include <vector>

#include "rolter/base/random.h"
#include "rolter/runtime/http_sources.h"

namespace rolter::runtime {
namespace {

/// The provider's key goes to its LMCache server only when both are the same host.
feeds::HttpSource lmcache_source(const proxy::Provider& provider,
                                 const config::Provider& settings) {
  const bool same_host = settings.lmcache->endpoint.host == settings.api_base.host;
  return {.addresses = provider.lmcache->addresses,
          .egress = provider.lmcache->egress,
          .fields = provider.lmcache->host_field + (same_host ? provider.own_fields : ""),
          .tls = provider.lmcache->tls};
}

}  // namespace

void count_transition(telemetry::ProviderCounters& counters, const cluster::Transition& change) {
  if (change.cooled_for) {
    counters.cooldowns_tripped.add();
  }
  if (change.breaker_opened) {
    counters.breaker_opened.add();
  }
}

ControlFeeds::ControlFeeds(LoopThread& control, telemetry::AppLog& log, CacheLosses& losses,
                           std::size_t metrics_block)
    : log_(log),
      losses_(losses),
      metrics_block_(metrics_block),
      key_problems_([this](std::string_view provider, const std::string& problem) {
        tell("health probe", provider, problem);
      }),
      health_(control.loop(), control.scope(), make_seeded_rng(),
              [this](const auto& replica, cluster::ProbeResult result, const auto& changed) {
                on_probe(replica, result, changed);
              }),
      scrape_(
          control.loop(), control.scope(), make_seeded_rng(),
          [this](std::string_view provider, const std::string& problem) {
            tell("metrics scrape", provider, problem);
          },
          [this](const cluster::Replica& replica) {
            losses_.seen(replica.name(), "it has restarted, as its metrics tell");
          }),
      lmcache_(control.loop(), control.scope(), make_seeded_rng(),
               [this](std::string_view provider, const std::string& problem) {
                 tell("lmcache poll", provider, problem);
               }) {}

void ControlFeeds::watch(const proxy::GatewayState& state, std::function<void()> first_scraped) {
  const config::Config& config = state.config;
  series_.clear();
  queues_.clear();
  for (const proxy::Route& route : state.routes) {
    if (route.queue) {
      queues_.push_back(route.queue);
    }
  }
  std::vector<feeds::ProbedReplica> probed;
  std::vector<feeds::ScrapedReplica> scraped;
  std::vector<feeds::LmcacheServer> servers;
  for (std::size_t i = 0; i < config.providers.size(); ++i) {
    const proxy::Provider& provider = state.providers[i];
    const auto& replica = state.cluster->replicas[i];
    series_[provider.name] = state.metrics->providers[i];
    probed.push_back(
        {.replica = replica, .source = replica_source(provider), .base_path = provider.base_path});
    scraped.push_back(
        {.replica = replica, .source = replica_source(provider), .base_path = provider.base_path});
    if (provider.lmcache) {
      servers.push_back({.replica = replica,
                         .source = lmcache_source(provider, config.providers[i]),
                         .settings = *config.providers[i].lmcache});
    }
  }
  key_problems_.keep_only([this](const std::string& name) { return series_.contains(name); });
  health_.watch(std::move(probed), config.health, {});
  scrape_.watch(std::move(scraped), config.metrics_scrape, std::move(first_scraped));
  lmcache_.watch(std::move(servers));
}

void ControlFeeds::stop() {
  health_.stop();
  scrape_.stop();
  lmcache_.stop();
}

void ControlFeeds::on_probe(const cluster::Replica& replica, cluster::ProbeResult result,
                            const cluster::Transition& changed) {
  if (const auto series = series_.find(replica.name()); series != series_.end()) {
    telemetry::ProviderCounters& counters = series->second->on(metrics_block_);
    counters.probes[static_cast<std::size_t>(result)].add();
    count_transition(counters, changed);
  }
  if (changed.any()) {
    for (const auto& queue : queues_) {
      queue->place_freed();  // it may be back
    }
    log_.warn("provider {}: {} (probe: {})", replica.name(), describe(changed), to_string(result));
  }
  if (changed.restarted) {
    losses_.seen(replica.name(), kSeenByPort);
  }
  key_problems_.report(replica.name(), result == cluster::ProbeResult::kKeyRejected
                                           ? "it is up, but rejects the provider's api_key"
                                           : "");
}

void ControlFeeds::tell(std::string_view feed, std::string_view provider,
                        const std::string& problem) {
  if (problem.empty()) {
    log_.info("provider {}: {} works again", provider, feed);
  } else {
    log_.warn("provider {}: {}: {}", provider, feed, problem);
  }
}

}  // namespace rolter::runtime
