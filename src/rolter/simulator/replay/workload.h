#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rolter/simulator/trace.h"

namespace rolter::simulator::replay {

/// What a fleet is asked to do: conversations, each call of which waits for the one before.
struct Workload {
  std::vector<TraceChain> chains;
  std::size_t known_blocks = 0;  // every block id is less
  std::size_t requests = 0;
  bool has_sessions = false;  // some chain has more than one call
};

/// Several traces played at once: their blocks are made different from each other's.
[[nodiscard]] Workload make_workload(std::vector<std::vector<TraceChain>> traces);

/// Which conversation a call belongs to. In a trace that does not say, calls that share their
/// second block do: the first one is often everybody's.
[[nodiscard]] std::uint64_t session_of(const Workload& workload, std::size_t chain,
                                       const TraceCall& call);

}  // namespace rolter::simulator::replay
