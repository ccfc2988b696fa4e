#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rolter/admission/wait_queues.h"
#include "rolter/balance/prefill_queues.h"
#include "rolter/balance/session_tables.h"
#include "rolter/balance/shadow.h"
#include "rolter/base/ids.h"
#include "rolter/cluster/replica_registry.h"
#include "rolter/config/config.h"
#include "rolter/http/address_book.h"
#include "rolter/kvcache/prefix_trees.h"
#include "rolter/kvcache/residency.h"
#include "rolter/proxy/gateway_state.h"
#include "rolter/proxy/tls_files.h"
#include "rolter/telemetry/metrics_registry.h"

namespace rolter::proxy {

/// Turns configurations into states, and owns what lives on from one to the next: replicas with
/// their load and health, indexes, resolved addresses. One thread.
class StateBuilder {
 public:
  /// `metrics` must outlive the builder.
  /// `key_seed` is random per process.
  StateBuilder(telemetry::MetricsRegistry& metrics, std::uint64_t key_seed)
      : metrics_(metrics), key_seed_(key_seed) {
    residency_->learned.set_seed(key_seed);
  }

  struct Built {
    std::shared_ptr<const GatewayState> state;
    /// Replicas that are gone: call forget() with them when the state has been published.
    std::vector<ReplicaSlot> removed;
  };

  [[nodiscard]] Built build(config::Config config, TlsFiles tls, TimePoint now);
  void forget(const std::vector<ReplicaSlot>& removed);

  [[nodiscard]] cluster::ReplicaRegistry& replicas() { return replicas_; }
  [[nodiscard]] kvcache::PrefixTrees& trees() { return trees_; }
  /// What the replicas' events feed and the strategies read.
  [[nodiscard]] const std::shared_ptr<kvcache::Residency>& residency() { return residency_; }

 private:
  [[nodiscard]] std::unique_ptr<balance::Strategy> make_strategy(
      const config::Route& route, const std::vector<cluster::RouteTarget>& targets) const;
  [[nodiscard]] Provider make_provider(const config::Provider& provider,
                                       const config::Config& config,
                                       std::shared_ptr<const http::TlsContext> tls);

  [[nodiscard]] std::vector<std::unique_ptr<balance::Shadow>> make_shadows(
      const config::Route& route, const std::vector<cluster::RouteTarget>& targets);
  void keep_shadows_of(const GatewayState& state);

  /// A route's model and one of its shadows.
  using ShadowName = std::pair<std::string, config::StrategyKind>;

  telemetry::MetricsRegistry& metrics_;
  std::uint64_t key_seed_;
  cluster::ReplicaRegistry replicas_;
  kvcache::PrefixTrees trees_;
  std::shared_ptr<kvcache::Residency> residency_ = std::make_shared<kvcache::Residency>();
  std::shared_ptr<balance::PrefillQueues> prefills_ = std::make_shared<balance::PrefillQueues>();
  balance::SessionTables sessions_;
  admission::WaitQueues queues_;
  http::AddressBook addresses_;
  std::map<ShadowName, std::shared_ptr<balance::ShadowMemory>> shadows_;
  std::shared_ptr<const GatewayState> last_;
};

}  // namespace rolter::proxy
