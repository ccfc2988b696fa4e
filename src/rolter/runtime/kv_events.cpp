#include "rolter/runtime/kv_events.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "rolter/base/random.h"
#include "rolter/runtime/kv_sources.h"

namespace rolter::runtime {
namespace {

using feeds::KvStreamStatus;
using kvcache::StreamState;
using telemetry::Metric;

/// As docs/operations/metrics.md has it; 0 = the provider has no stream.
int state_number(StreamState state) {
  switch (state) {
    case StreamState::kConnecting:
      return 1;
    case StreamState::kCatchingUp:
      return 2;
    case StreamState::kLive:
      return 3;
    case StreamState::kStale:
      return 4;
    case StreamState::kPartial:
      return 5;
  }
  return 0;
}

/// Of the states of several ranks the one to worry about most is shown.
int concern(StreamState state) {
  constexpr std::array kRising{StreamState::kLive, StreamState::kPartial, StreamState::kCatchingUp,
                               StreamState::kConnecting, StreamState::kStale};
  return static_cast<int>(std::ranges::find(kRising, state) - kRising.begin());
}

/// What all ranks of a provider add up to.
struct ProviderSum {
  StreamState state = StreamState::kLive;
  std::size_t blocks = 0;
  double lag_seconds = 0.0;
  kvcache::EventStreamCounters batches;
  kvcache::BlockCounters events;
  std::uint64_t unknown_events = 0;
  std::uint64_t malformed = 0;
  std::uint64_t foreign_topics = 0;

  void add(const KvStreamStatus& rank) {
    state = std::max(state, rank.state,
                     [](StreamState a, StreamState b) { return concern(a) < concern(b); });
    blocks += rank.blocks;
    lag_seconds = std::max(lag_seconds, rank.lag_seconds);
    batches.gaps += rank.batches.gaps;
    batches.holes += rank.batches.holes;
    batches.restarts += rank.batches.restarts;
    batches.replays += rank.batches.replays;
    batches.failed_replays += rank.batches.failed_replays;
    batches.duplicates += rank.batches.duplicates;
    batches.overflows += rank.batches.overflows;
    malformed +=
        rank.batches.malformed_frames + rank.batches.unreadable_batches + rank.malformed_events;
    events.stored += rank.block_counters.stored;
    events.removed += rank.block_counters.removed;
    events.cleared += rank.block_counters.cleared;
    unknown_events += rank.unknown_events;
    foreign_topics += rank.foreign_topics;
  }

  void write(const std::string& provider, telemetry::ScrapeSink& sink) const {
    sink.set(Metric::kKvBlocks, {provider}, static_cast<double>(blocks));
    sink.set(Metric::kKvStreamLag, {provider}, lag_seconds);
    const auto count = [&](Metric metric, std::string_view kind, std::uint64_t value) {
      sink.set(metric, {provider, kind}, static_cast<double>(value));
    };
    count(Metric::kKvEvents, "stored", events.stored);
    count(Metric::kKvEvents, "removed", events.removed);
    count(Metric::kKvEvents, "cleared", events.cleared);
    count(Metric::kKvIncidents, "gap", batches.gaps);
    count(Metric::kKvIncidents, "hole", batches.holes);
    count(Metric::kKvIncidents, "restart", batches.restarts);
    count(Metric::kKvIncidents, "replay", batches.replays);
    count(Metric::kKvIncidents, "failed_replay", batches.failed_replays);
    count(Metric::kKvIncidents, "duplicate", batches.duplicates);
    count(Metric::kKvIncidents, "overflow", batches.overflows);
    count(Metric::kKvIncidents, "malformed", malformed);
    count(Metric::kKvIncidents, "unknown_event", unknown_events);
    count(Metric::kKvIncidents, "other_topic", foreign_topics);
  }
};

}  // namespace

KvEvents::KvEvents(LoopThread& control, const Clock& clock, telemetry::AppLog& log,
                   kvcache::BlockIndex& index, CacheLosses& losses)
    : log_(log),
      losses_(losses),
      feed_(index, clock, make_seeded_rng(),
            [this](const feeds::KvNotice& notice) { tell(notice); }),
      resolution_(control.loop(), control.scope(),
                  [this](std::string_view host, const std::string& problem) {
                    log_.warn("cannot resolve {}: {}", host, problem);
                  }),
      discovery_(
          control.loop(), control.scope(), make_seeded_rng(), [this] { follow(nullptr); },
          [this](std::string_view provider, const std::string& problem) {
            if (problem.empty()) {
              log_.info("provider {}: the sources of its KV events are known", provider);
            } else {
              log_.warn("provider {}: cannot find out where its KV events come from: {}", provider,
                        problem);
            }
          }) {}

void KvEvents::start() {
  thread_ = std::thread([this] {
    ::pthread_setname_np(::pthread_self(), "rolter-kv");
    try {
      feed_.run();
    } catch (const std::exception& bug) {
      log_.error("bug: the thread of KV events ended with an exception: {}", bug.what());
      throw;
    }
  });
}

void KvEvents::watch(std::shared_ptr<const proxy::GatewayState> state,
                     std::function<void()> in_force) {
  state_ = std::move(state);
  std::vector<feeds::AskedReplica> asked;
  for (std::size_t i = 0; i < state_->providers.size(); ++i) {
    const config::Provider& settings = state_->config.providers[i];
    const proxy::Provider& provider = state_->providers[i];
    if (settings.kv_events && settings.kv_events->discover) {
      asked.push_back({.replica = state_->cluster->replicas[i],
                       .source = {.addresses = provider.addresses,
                                  .egress = provider.egress,
                                  .fields = provider.host_field + provider.own_fields,
                                  .tls = provider.tls},
                       .base_path = provider.base_path,
                       .kind = settings.kind});
    }
  }
  discovery_.watch(std::move(asked));
  follow(std::move(in_force));
}

void KvEvents::follow(std::function<void()> in_force) {
  std::vector<feeds::KvSource> sources;
  std::vector<feeds::ResolvedName> names;
  for (std::size_t i = 0; i < state_->providers.size(); ++i) {
    if (!state_->config.providers[i].kv_events) {
      continue;
    }
    KvSources of_provider =
        kv_sources(*state_, i, discovery_.announced(state_->providers[i].name), hosts_);
    std::ranges::move(of_provider.sources, std::back_inserter(sources));
    for (feeds::ResolvedName& name : of_provider.names) {
      const bool known = std::ranges::any_of(
          names, [&](const feeds::ResolvedName& other) { return other.cell == name.cell; });
      if (!known) {
        names.push_back(std::move(name));
      }
    }
  }
  resolution_.watch(std::move(names), nullptr);
  feed_.watch(std::move(sources), std::move(in_force));
}

void KvEvents::stop() {
  discovery_.stop();
  resolution_.stop();
}

void KvEvents::join() {
  if (thread_.joinable()) {
    feed_.stop();
    thread_.join();
  }
}

void KvEvents::tell(const feeds::KvNotice& notice) {
  const std::string who = notice.rank == 0
                              ? std::string(notice.provider)
                              : fmt::format("{} rank {}", notice.provider, notice.rank);
  if (notice.kind == feeds::KvNotice::Kind::kCacheLost) {
    losses_.seen(std::string(notice.provider), notice.text);
  } else if (notice.kind == feeds::KvNotice::Kind::kGood) {
    log_.info("provider {}: KV events: {}", who, notice.text);
  } else {
    log_.warn("provider {}: KV events: {}", who, notice.text);
  }
}

void KvEvents::collect(const proxy::GatewayState& state, telemetry::ScrapeSink& sink) const {
  std::map<std::string, ProviderSum, std::less<>> sums;
  for (const KvStreamStatus& status : feed_.status()) {
    sums[status.provider].add(status);
  }
  for (const proxy::Provider& provider : state.providers) {
    const auto sum = sums.find(provider.name);
    sink.set(Metric::kKvStreamState, {provider.name},
             sum == sums.end() ? 0 : state_number(sum->second.state));
    if (sum != sums.end()) {
      sum->second.write(provider.name, sink);
    }
  }
}

}  // namespace rolter::runtime
