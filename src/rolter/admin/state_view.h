#pragma once

#include <span>
#include <string>

#include "rolter/admin/traffic.h"
#include "rolter/kvcache/prefix_trees.h"
#include "rolter/proxy/decision_ring.h"
#include "rolter/proxy/gateway_state.h"

namespace rolter::admin {

/// What the state is shown from.
struct StateViewInput {
  const proxy::GatewayState& state;
  const Traffic& traffic;
  const kvcache::PrefixTrees& trees;
  std::span<const proxy::LastError> errors;
  bool ready = true;
  bool draining = false;
  TimePoint now;
};

enum class WithConfig : std::uint8_t { kNo, kYes };

/// Version, fleet, each provider with its health and load, routes with their targets and, when
/// asked for, the configuration.
[[nodiscard]] std::string state_json(const StateViewInput& in, WithConfig with_config);

/// The fleet as a table for a terminal.
[[nodiscard]] std::string state_text(const StateViewInput& in);

}  // namespace rolter::admin
