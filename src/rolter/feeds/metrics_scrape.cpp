#include "rolter/feeds/metrics_scrape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "rolter/cluster/engine_gauges.h"

namespace rolter::feeds {
namespace {

/// vLLM 0.32 sends 60 kB; per-rank histograms of a large deployment multiply that.
constexpr std::size_t kMostMetricsBytes = std::size_t{8} * 1024 * 1024;

/// What is wrong with the answer; "" when its load can be read.
std::string problem_of(const Result<GetAnswer>& answer, const cluster::EngineGauges& gauges) {
  if (!answer) {
    return answer.error().message;
  }
  if (answer->status != 200) {
    return fmt::format("status {}", answer->status);
  }
  return gauges.depth() ? "" : "no gauge of running and waiting requests that Rolter knows";
}

}  // namespace

MetricsScrape::MetricsScrape(http::Loop& loop, http::TaskScope& scope, Rng seeded,
                             PollProblems::Tell tell, OnRestart on_restart)
    : loop_(loop),
      problems_(std::make_shared<PollProblems>(std::move(tell))),
      on_restart_(std::make_shared<const OnRestart>(std::move(on_restart))),
      polls_("metrics-scrape", loop, scope, seeded) {}

void MetricsScrape::watch(std::vector<ScrapedReplica> replicas,
                          const config::MetricsScrape& settings, std::function<void()> first_done) {
  if (!settings.enabled) {
    replicas.clear();
  }
  problems_->keep_only([&](const std::string& provider) {
    return std::ranges::any_of(
        replicas, [&](const ScrapedReplica& it) { return it.replica->name() == provider; });
  });
  std::vector<PollPlan> plans;
  for (ScrapedReplica& scraped : replicas) {
    const std::shared_ptr<cluster::Replica> replica = scraped.replica;
    const auto sent_mark = std::make_shared<std::uint32_t>(0);
    plans.push_back(
        {.replica = replica,
         .source = std::move(scraped.source),
         .path = scraped.base_path + settings.path,
         .limits = {.timeout = settings.timeout, .max_body_bytes = kMostMetricsBytes},
         .interval = [interval = settings.interval] { return interval; },
         .on_start = [replica, sent_mark] { *sent_mark = replica->sent(); },
         .on_answer =
             [replica, sent_mark, problems = problems_, on_restart = on_restart_,
              &loop = loop_](const Result<GetAnswer>& answer) {
               const bool readable = answer && answer->status == 200;
               const cluster::EngineGauges gauges =
                   readable ? cluster::parse_engine_gauges(answer->body) : cluster::EngineGauges{};
               // An unreadable answer leaves the last reading until it is too old.
               if (readable && replica->scraped(gauges, *sent_mark, loop.now()).restarted) {
                 (*on_restart)(*replica);
               }
               problems->report(replica->name(), problem_of(answer, gauges));
             }});
  }
  polls_.watch(std::move(plans), std::move(first_done));
}

}  // namespace rolter::feeds
