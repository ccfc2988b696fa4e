#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rolter/cluster/replica.h"
#include "rolter/config/config.h"
#include "rolter/feeds/poll_group.h"
#include "rolter/feeds/poll_problems.h"

namespace rolter::feeds {

/// A replica whose load is read from its own metrics.
struct ScrapedReplica {
  std::shared_ptr<cluster::Replica> replica;
  HttpSource source;
  std::string base_path;  // of its URL, before the metrics' path
};

/// Reads queue depth and KV usage from each replica at [metrics_scrape] interval. Whatever cannot
/// be read is unknown, never idle. Lives on the control loop.
class MetricsScrape {
 public:
  /// The replica is another process than at the scrape before.
  using OnRestart = std::function<void(const cluster::Replica& replica)>;

  /// `tell`: the replica gives no usable metrics, or does again.
  MetricsScrape(http::Loop& loop, http::TaskScope& scope, Rng seeded, PollProblems::Tell tell,
                OnRestart on_restart);

  /// Scrapes these from now on instead of any earlier ones; none when [metrics_scrape] is off.
  /// `first_done` as PollGroup::watch() has it: /ready waits for it, for a while.
  void watch(std::vector<ScrapedReplica> replicas, const config::MetricsScrape& settings,
             std::function<void()> first_done);
  void stop() { polls_.stop(); }

 private:
  http::Loop& loop_;
  std::shared_ptr<PollProblems> problems_;
  std::shared_ptr<const OnRestart> on_restart_;
  PollGroup polls_;
};

}  // namespace rolter::feeds
