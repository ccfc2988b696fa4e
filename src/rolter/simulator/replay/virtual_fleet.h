#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "rolter/simulator/replay/outcome.h"
#include "rolter/simulator/replay/policy.h"
#include "rolter/simulator/replay/virtual_engine.h"
#include "rolter/simulator/replay/workload.h"

namespace rolter::simulator::replay {

struct FleetShape {
  std::size_t replicas = 4;
  EngineShape engine;
  std::vector<std::size_t> blocks{};  // of the replicas in turn, where they differ

  [[nodiscard]] EngineShape engine_of(std::size_t replica) const {
    EngineShape shape = engine;
    if (!blocks.empty()) {
      shape.blocks = blocks[replica % blocks.size()];
    }
    return shape;
  }
};

struct Pace {
  double load = 1.0;  // > 0: starts come so many times as fast; think and service times stay
  std::uint64_t seed = 1;
  // What is counted begins when so many prompts have started since the first block had to leave a
  // cache; absent: with the first request.
  std::optional<std::size_t> settles_after{};
};

/// Told now and then how many requests have had their answer.
using Progress = std::function<void(std::size_t done)>;

/// Plays the workload against a fleet in virtual time. Deterministic: the same arguments give the
/// same outcome, whatever the machine. Memory: one record per request, 10 bytes per known block
/// and replica.
[[nodiscard]] Outcome play(const Workload& workload, const FleetShape& shape, const Pace& pace,
                           Policy& policy, const Progress& progress = {});

}  // namespace rolter::simulator::replay
