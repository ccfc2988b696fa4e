#include "rolter/cluster/replica_registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace rolter::cluster {
namespace {

/// A scraped depth is worth something for this many intervals.
constexpr int kScrapesUntilStale = 3;

ReplicaSettings settings_of(const config::Config& config) {
  return ReplicaSettings{.cooldown = config.cooldown,
                         .breaker = config.breaker,
                         .health = config.health,
                         .scrape_stale = config.metrics_scrape.interval * kScrapesUntilStale +
                                         config.metrics_scrape.timeout};
}

/// \x1f: no name of a provider, route or model can hold it and make two identities one.
std::string identity_of(const config::Provider& provider) {
  const config::Url& url = provider.api_base;
  return fmt::format("{}\x1f{}\x1f{}\x1f{}\x1f{}", provider.name, url.tls, url.host, url.port,
                     url.base_path);
}

}  // namespace

ReplicaRegistry::Applied ReplicaRegistry::apply(const config::Config& config, TimePoint now) {
  const std::lock_guard lock(mutex_);
  const ReplicaSettings settings = settings_of(config);
  Applied applied;
  auto view = std::make_shared<ClusterView>();
  std::vector<Known> known;
  for (const config::Provider& provider : config.providers) {
    known.push_back({identity_of(provider), find_or_add(provider, settings, now)});
    const auto& replica = view->replicas.emplace_back(known.back().replica);
    if (std::ranges::find(known_, replica, &Known::replica) == known_.end()) {
      applied.added.push_back(replica->slot());
    }
  }
  std::vector<KnownLoad> loads;
  for (const config::Route& route : config.routes) {
    RouteTargets& targets = view->routes.emplace_back();
    targets.slow_start = route.slow_start;
    for (const config::RouteTarget& target : route.targets) {
      const std::string& provider = config.providers.at(target.provider).name;
      std::string identity = fmt::format("{}\x1f{}\x1f{}", route.model, provider, target.model);
      std::shared_ptr<TargetLoad> load = find_load(identity);
      targets.targets.push_back(RouteTarget{.replica = view->replicas.at(target.provider),
                                            .load = load,
                                            .model = target.model,
                                            .label = fmt::format("{}/{}", provider, target.model),
                                            .weight = target.weight,
                                            .cap = target.max_in_flight,
                                            .provider = target.provider});
      loads.push_back({std::move(identity), std::move(load)});
    }
  }
  for (const Known& old : known_) {
    if (std::ranges::find(known, old.replica, &Known::replica) == known.end()) {
      applied.removed.push_back(old.replica->slot());
      slots_.at(to_index(old.replica->slot())).use = Slot::Use::kRetiring;
    }
  }
  known_ = std::move(known);
  loads_ = std::move(loads);
  applied_before_ = true;
  applied.view = std::move(view);
  return applied;
}

std::shared_ptr<Replica> ReplicaRegistry::find_or_add(const config::Provider& provider,
                                                      const ReplicaSettings& settings,
                                                      TimePoint now) {
  const auto found = std::ranges::find(known_, identity_of(provider), &Known::identity);
  if (found != known_.end()) {
    found->replica->configure(settings);
    return found->replica;
  }
  const ReplicaSlot slot = take_slot();
  auto replica = std::make_shared<Replica>(provider.name, slot, settings);
  slots_.at(to_index(slot)).replica = replica;
  if (applied_before_) {
    replica->starts_cold(now);
  }
  if (std::ranges::find(drained_, provider.name) != drained_.end()) {
    replica->set_drained(true, now);
  }
  return replica;
}

std::shared_ptr<TargetLoad> ReplicaRegistry::find_load(const std::string& identity) const {
  const auto found = std::ranges::find(loads_, identity, &KnownLoad::identity);
  return found != loads_.end() ? found->load : std::make_shared<TargetLoad>();
}

ReplicaSlot ReplicaRegistry::take_slot() {
  const auto usable = [](const Slot& slot) {
    return slot.use == Slot::Use::kFree ||
           (slot.use == Slot::Use::kReleased && slot.replica.expired());
  };
  auto found = std::ranges::find_if(slots_, usable);
  if (found == slots_.end()) {
    found = slots_.insert(slots_.end(), Slot{});
  }
  found->use = Slot::Use::kTaken;
  return ReplicaSlot{static_cast<std::uint32_t>(found - slots_.begin())};
}

void ReplicaRegistry::release(ReplicaSlot slot) {
  const std::lock_guard lock(mutex_);
  Slot& entry = slots_.at(to_index(slot));
  if (entry.use == Slot::Use::kRetiring) {
    entry.use = Slot::Use::kReleased;
  }
}

bool ReplicaRegistry::set_drained(std::string_view provider, bool drained, TimePoint now) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(
      known_, [&](const Known& known) { return known.replica->name() == provider; });
  if (found == known_.end()) {
    return false;
  }
  found->replica->set_drained(drained, now);
  std::erase(drained_, provider);
  if (drained) {
    drained_.emplace_back(provider);
  }
  return true;
}

}  // namespace rolter::cluster
