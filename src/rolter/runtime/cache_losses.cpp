#include "rolter/runtime/cache_losses.h"

#include <utility>

#include "rolter/runtime/kv_events.h"

namespace rolter::runtime {

void CacheLosses::seen(std::string provider, std::string_view what) {
  control_.post([this, provider = std::move(provider), what] { forget(provider, what); });
}

void CacheLosses::forget(const std::string& provider, std::string_view what) {
  const auto state = state_->load();
  for (std::size_t i = 0; i < state->cluster->replicas.size(); ++i) {
    const cluster::Replica& replica = *state->cluster->replicas[i];
    if (replica.name() == provider) {
      kv_events_->restarted(replica.slot());
      trees_.remove_replica(replica.slot());
      for (const proxy::Route& route : state->routes) {
        for (const auto& shadow : route.shadows) {
          shadow->forget(replica.slot());
        }
      }
      state->metrics->providers[i]->on(metrics_block_).cache_losses.add();
      log_.warn("provider {}: {}; what it had in its cache is forgotten", provider, what);
    }
  }
}

}  // namespace rolter::runtime
