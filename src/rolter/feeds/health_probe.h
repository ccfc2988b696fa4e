#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rolter/cluster/replica.h"
#include "rolter/config/config.h"
#include "rolter/feeds/poll_group.h"

namespace rolter::feeds {

/// A replica whose health is asked for.
struct ProbedReplica {
  std::shared_ptr<cluster::Replica> replica;
  HttpSource source;
  std::string base_path;  // of its URL, before the probe's path
};

/// What an answer to a probe, or the lack of one, says.
[[nodiscard]] cluster::ProbeResult judge_probe(const Result<GetAnswer>& answer);

/// Active health probes: each replica at [health] interval, and every second while it is down or a
/// request could not reach it. Lives on the control loop.
class HealthProbes {
 public:
  using OnProbe = std::function<void(const cluster::Replica& replica, cluster::ProbeResult result,
                                     const cluster::Transition& changed)>;

  HealthProbes(http::Loop& loop, http::TaskScope& scope, Rng seeded, OnProbe on_probe);

  /// Probes these from now on instead of any earlier ones; none when [health] is off. `first_done`
  /// as PollGroup::watch() has it.
  void watch(std::vector<ProbedReplica> replicas, const config::Health& health,
             std::function<void()> first_done);
  void stop() { polls_.stop(); }

 private:
  http::Loop& loop_;
  std::shared_ptr<const OnProbe> on_probe_;
  PollGroup polls_;
};

}  // namespace rolter::feeds
