#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "rolter/base/time.h"
#include "rolter/config/config.h"
#include "rolter/simulator/replay/policy.h"

namespace rolter::simulator::replay {

struct StrategyOptions {
  config::StrategyKind kind = config::StrategyKind::kCacheAware;
  std::size_t replicas = 4;
  std::uint32_t max_in_flight = 0;  // of a target; 0 = no cap
  bool record_replies = true;
  std::optional<Duration> index_lag{};  // of KV events; absent: there are none, nor token ids
  bool reports_cached = true;           // engines say what they found
  std::size_t believed_blocks = 0;      // per replica, that the tree begins with; 0 = no bound
};

/// The very strategy object that serves traffic, on a route with defaults, fed as the proxy feeds
/// it: candidates of the cluster view, leases, records that are kept at the first token and end
/// with the answer. nullptr when this version has no such strategy.
[[nodiscard]] std::unique_ptr<Policy> make_strategy_policy(const StrategyOptions& options);

}  // namespace rolter::simulator::replay
