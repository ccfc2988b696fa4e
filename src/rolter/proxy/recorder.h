#pragma once

#include <cstdint>
#include <string_view>

#include "rolter/cluster/transition.h"
#include "rolter/proxy/gateway_state.h"
#include "rolter/proxy/request_facts.h"

namespace rolter::proxy {

/// Why a request that had to wait for a target got none.
enum class QueueRefusal : std::uint8_t { kFull, kTimedOut };

/// Where the data path reports what happened, for metrics and logs. One per loop; called on it, and
/// must neither block nor fail.
class Recorder {
 public:
  virtual ~Recorder() = default;
  virtual void request_ended(const GatewayState& state, const RequestFacts& facts) = 0;
  /// `provider` as Config::providers.
  virtual void replica_changed(const GatewayState& state, std::size_t provider,
                               const cluster::Transition& change) = 0;
  virtual void attempt_failed(const GatewayState& state, std::size_t route, std::size_t target,
                              cluster::Outcome outcome, std::string_view why) = 0;
  virtual void queue_refused(const GatewayState& state, std::size_t route, QueueRefusal why) = 0;
  virtual void failed_open(const GatewayState& state, std::size_t route) = 0;
  /// The route is out, and its fallback takes the request.
  virtual void fell_back(const GatewayState& state, std::size_t route) = 0;
  /// The request's x-rolter-vllm-token-ids could not be read.
  virtual void bad_token_ids(const GatewayState& state, std::size_t route) = 0;
};

}  // namespace rolter::proxy
