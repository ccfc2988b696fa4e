#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rolter/admission/wait_queue.h"
#include "rolter/cluster/replica.h"
#include "rolter/feeds/health_probe.h"
#include "rolter/feeds/lmcache_poll.h"
#include "rolter/feeds/metrics_scrape.h"
#include "rolter/feeds/poll_problems.h"
#include "rolter/proxy/gateway_state.h"
#include "rolter/runtime/cache_losses.h"
#include "rolter/runtime/loop_thread.h"
#include "rolter/telemetry/app_log.h"
#include "rolter/telemetry/series.h"

namespace rolter::runtime {

/// Counts what a change of a replica's state means for the metrics. Only from the loop whose block
/// of counters this is.
void count_transition(telemetry::ProviderCounters& counters, const cluster::Transition& change);

/// What the control loop asks the replicas beside requests: health, load, LMCache. Logs and counts
/// what the answers change. Everything but the constructor is called on the control loop.
class ControlFeeds {
 public:
  /// `metrics_block` is the control loop's own block of each series.
  ControlFeeds(LoopThread& control, telemetry::AppLog& log, CacheLosses& losses,
               std::size_t metrics_block);

  /// Follows this configuration from now on. `first_scraped` is called once when each replica's
  /// load has been asked for, at once when none is.
  void watch(const proxy::GatewayState& state, std::function<void()> first_scraped);
  void stop();

 private:
  void on_probe(const cluster::Replica& replica, cluster::ProbeResult result,
                const cluster::Transition& changed);
  void tell(std::string_view feed, std::string_view provider, const std::string& problem);

  telemetry::AppLog& log_;
  CacheLosses& losses_;
  std::size_t metrics_block_;
  std::map<std::string, std::shared_ptr<telemetry::ProviderSeries>, std::less<>> series_;
  std::vector<std::shared_ptr<admission::WaitQueue>> queues_;
  feeds::PollProblems key_problems_;
  feeds::HealthProbes health_;
  feeds::MetricsScrape scrape_;
  feeds::LmcachePolls lmcache_;
};

}  // namespace rolter::runtime
