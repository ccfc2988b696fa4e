#include "rolter/feeds/health_probe.h"

#include <cstddef>
#include <utility>

namespace rolter::feeds {
namespace {

/// Only the status counts.
constexpr std::size_t kMostHealthBytes = std::size_t{64} * 1024;

}  // namespace

cluster::ProbeResult judge_probe(const Result<GetAnswer>& answer) {
  using cluster::ProbeResult;
  if (answer) {
    const int status = answer->status;
    if (status == 401 || status == 403) {
      return ProbeResult::kKeyRejected;
    }
    return status >= 200 && status < 300 ? ProbeResult::kPassed : ProbeResult::kFailed;
  }
  switch (answer.error().kind) {
    case ErrorKind::kConnectRefused:
      return ProbeResult::kRefused;
    case ErrorKind::kTimeout:
      return ProbeResult::kTimedOut;
    default:
      return ProbeResult::kFailed;
  }
}

HealthProbes::HealthProbes(http::Loop& loop, http::TaskScope& scope, Rng seeded, OnProbe on_probe)
    : loop_(loop),
      on_probe_(std::make_shared<const OnProbe>(std::move(on_probe))),
      polls_("health-probe", loop, scope, seeded) {}

void HealthProbes::watch(std::vector<ProbedReplica> replicas, const config::Health& health,
                         std::function<void()> first_done) {
  std::vector<PollPlan> plans;
  if (!health.enabled) {
    replicas.clear();
  }
  for (ProbedReplica& probed : replicas) {
    const std::shared_ptr<cluster::Replica> replica = probed.replica;
    plans.push_back(
        {.replica = replica,
         .source = std::move(probed.source),
         .path = probed.base_path + health.path,
         .limits = {.timeout = health.timeout, .max_body_bytes = kMostHealthBytes},
         .interval = [replica] { return replica->probe_interval(); },
         .on_start = [] {},
         .on_answer =
             [replica, on_probe = on_probe_, &loop = loop_](const Result<GetAnswer>& answer) {
               const cluster::ProbeResult result = judge_probe(answer);
               (*on_probe)(*replica, result, replica->probed(result, loop.now()));
             }});
  }
  polls_.watch(std::move(plans), std::move(first_done));
}

}  // namespace rolter::feeds
