#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "rolter/base/snapshot_cell.h"
#include "rolter/kvcache/prefix_trees.h"
#include "rolter/proxy/gateway_state.h"
#include "rolter/runtime/loop_thread.h"
#include "rolter/telemetry/app_log.h"

namespace rolter::runtime {

class KvEvents;

/// What a port tells that refused and is open again.
inline constexpr std::string_view kSeenByPort = "it has restarted: its port refused for a while";

/// A replica that has restarted or cleared its cache holds nothing: what both indexes believe of it
/// is forgotten. It is seen by whatever notices first: a port that refused and is open again, its
/// KV events, the start time in its metrics.
class CacheLosses {
 public:
  /// All must outlive it. `metrics_block` is the control loop's own.
  CacheLosses(LoopThread& control, telemetry::AppLog& log, kvcache::PrefixTrees& trees,
              std::size_t metrics_block)
      : control_(control), log_(log), trees_(trees), metrics_block_(metrics_block) {}

  /// Before anything is seen.
  void follow(const SnapshotCell<proxy::GatewayState>& state, KvEvents& kv_events) {
    state_ = &state;
    kv_events_ = &kv_events;
  }

  /// `what` has happened, for people: a literal. Any thread; done on the control loop.
  void seen(std::string provider, std::string_view what);

 private:
  void forget(const std::string& provider, std::string_view what);

  LoopThread& control_;
  telemetry::AppLog& log_;
  kvcache::PrefixTrees& trees_;
  std::size_t metrics_block_;
  const SnapshotCell<proxy::GatewayState>* state_ = nullptr;
  KvEvents* kv_events_ = nullptr;
};

}  // namespace rolter::runtime
