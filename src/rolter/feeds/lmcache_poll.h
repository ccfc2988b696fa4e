#pragma once

#include <memory>
#include <vector>

#include "rolter/cluster/replica.h"
#include "rolter/config/config.h"
#include "rolter/feeds/poll_group.h"
#include "rolter/feeds/poll_problems.h"

namespace rolter::feeds {

/// A replica with an LMCache server beside it. `source` is that server's.
struct LmcacheServer {
  std::shared_ptr<cluster::Replica> replica;
  HttpSource source;
  config::Lmcache settings;
};

/// Asks each replica's LMCache server for its free capacity. A failed or unusable answer makes the
/// replica neutral at once: nothing is known of it until the next good one. Lives on the control
/// loop.
class LmcachePolls {
 public:
  /// `tell`: the server gives no usable answer, or does again.
  LmcachePolls(http::Loop& loop, http::TaskScope& scope, Rng seeded, PollProblems::Tell tell);

  /// Polls these from now on instead of any earlier ones. What is known of a replica whose server
  /// is gone from the configuration grows old by itself.
  void watch(std::vector<LmcacheServer> servers);
  void stop() { polls_.stop(); }

 private:
  http::Loop& loop_;
  std::shared_ptr<PollProblems> problems_;
  PollGroup polls_;
};

}  // namespace rolter::feeds
