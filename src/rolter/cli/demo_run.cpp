#include "rolter/cli/demo_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <vector>

#include "rolter/cli/demo_fleet.h"
#include "rolter/config/names.h"

namespace rolter::cli {
namespace {

using simulator::LoadResult;
using simulator::LoadRun;
using simulator::SchedulerStats;

/// Answers that are still under way when time is up may take so long; then they are not counted.
constexpr int kGraceSeconds = 5;
constexpr double kThinkSeconds = 0.7;
constexpr int kSecondsPerLine = 5;  // of progress, where there is no terminal

/// All counters at one moment.
struct Snapshot {
  explicit Snapshot(DemoFleet& fleet)
      : callers(fleet.callers_result()), replicas(fleet.replica_stats()) {}

  LoadResult callers;
  std::vector<SchedulerStats> replicas;
};

std::uint64_t generated_between(const Snapshot& from, const Snapshot& to) {
  std::uint64_t generated = 0;
  for (std::size_t i = 0; i < to.replicas.size(); ++i) {
    generated += to.replicas[i].generated_tokens - from.replicas[i].generated_tokens;
  }
  return generated;
}

/// What happened between two moments; errors and refusals from the very start, so that none hides
/// in the warm-up.
StrategyReport report_between(const Snapshot& from, const Snapshot& to) {
  StrategyReport report;
  report.requests = to.callers.requests - from.callers.requests;
  report.errors = to.callers.errors;
  report.refused = to.callers.refused;
  report.first_token_s.assign(to.callers.first_token_s.begin() +
                                  static_cast<std::ptrdiff_t>(from.callers.first_token_s.size()),
                              to.callers.first_token_s.end());
  std::uint64_t prompt = 0;
  std::uint64_t hit = 0;
  for (std::size_t i = 0; i < to.replicas.size(); ++i) {
    const SchedulerStats& before = from.replicas[i];
    const SchedulerStats& after = to.replicas[i];
    prompt += after.prompt_tokens - before.prompt_tokens;
    hit += after.hit_tokens - before.hit_tokens;
    report.targets.push_back({"",
                              after.finished_stop + after.finished_length - before.finished_stop -
                                  before.finished_length,
                              after.computed_prefill_tokens - before.computed_prefill_tokens});
  }
  if (prompt > 0) {
    report.token_hit_rate = static_cast<double>(hit) / static_cast<double>(prompt);
  }
  return report;
}

/// One line that is rewritten on a terminal, and otherwise written now and then.
void show_progress(const std::string& strategy, const std::string& when, bool line_is_due,
                   const StrategyReport& so_far) {
  const bool terminal = isatty(STDERR_FILENO) == 1;
  if (!terminal && !line_is_due) {
    return;
  }
  const std::string line = fmt::format(
      "{:<20} {:<12} {:>6} answered   {:>3} errors   hit {:>5.1f} %   TTFT mean {:.3f} s", strategy,
      when, so_far.requests, so_far.errors, so_far.token_hit_rate * 100.0,
      mean(so_far.first_token_s));
  std::fprintf(stderr, terminal ? "\r%s" : "%s\n", line.c_str());
}

class StrategyRun {
 public:
  StrategyRun(const std::string& strategy, const DemoOptions& options, const DemoWorkload& workload,
              Interrupts& interrupts)
      : strategy_(strategy),
        options_(options),
        workload_(workload),
        interrupts_(interrupts),
        fleet_(fleet_options()) {}

  Result<std::optional<StrategyReport>> run() {
    if (auto started = fleet_.start(); !started) {
      return std::unexpected(started.error());
    }
    if (const std::string page = fleet_.gateway().admin_url(); !page.empty()) {
      std::fprintf(stderr, "live page: %s\n", page.c_str());
    }
    start_traffic();
    const Snapshot cold(fleet_);
    if (!pass(workload_.warm_up_s, cold, "warming up")) {
      return std::nullopt;
    }
    const Snapshot begin(fleet_);
    if (!pass(options_.seconds, begin, "")) {
      return std::nullopt;
    }
    const Snapshot end(fleet_);
    if (!finish_traffic()) {
      return std::nullopt;
    }
    return report(begin, end, Snapshot(fleet_));
  }

 private:
  FleetOptions fleet_options() const {
    FleetOptions fleet;
    fleet.replicas = options_.replicas;
    fleet.engine = workload_.engine;
    fleet.strategy = *config::strategy_named(strategy_);
    if (fleet.strategy == config::StrategyKind::kPreciseCacheAware) {
      fleet.engine.kv_events.endpoint = "tcp://127.0.0.1:0";
      fleet.engine.kv_events.replay_endpoint = "tcp://127.0.0.1:0";
    }
    return fleet;
  }

  void start_traffic() {
    fleet_.with_callers([this](LoadRun& run) {
      if (options_.token_ids) {
        run.bring_token_ids();
      }
      if (workload_.is_chat()) {
        run.start_users(workload_.chat, options_.users, kThinkSeconds, options_.seed);
      } else {
        run.start_trace(workload_.trace, workload_.speedup);
      }
    });
  }

  /// False when interrupted.
  bool pass(int seconds, const Snapshot& since, const std::string& word) {
    for (int second = 1; second <= seconds; ++second) {
      if (interrupts_.within(std::chrono::seconds(1))) {
        return false;
      }
      const std::string when = word.empty() ? fmt::format("{} of {} s", second, seconds) : word;
      show_progress(strategy_, when, second % kSecondsPerLine == 0 || second == seconds,
                    report_between(since, Snapshot(fleet_)));
    }
    return true;
  }

  bool finish_traffic() {
    fleet_.with_callers([](LoadRun& run) { run.stop(); });
    for (int i = 0; i < 10 * kGraceSeconds && fleet_.callers_result().in_flight > 0; ++i) {
      if (interrupts_.within(std::chrono::milliseconds(100))) {
        return false;
      }
    }
    std::fputs(isatty(STDERR_FILENO) == 1 ? "\n" : "", stderr);
    return true;
  }

  StrategyReport report(const Snapshot& begin, const Snapshot& end, const Snapshot& finished) {
    StrategyReport report = report_between(begin, finished);
    report.strategy = strategy_;
    report.tokens_per_s = static_cast<double>(generated_between(begin, end)) / options_.seconds;
    for (std::size_t i = 0; i < report.targets.size(); ++i) {
      report.targets[i].target = fleet_.target_name(i);
    }
    if (report.errors > 0) {
      std::fprintf(stderr, "last error: %s\n", finished.callers.last_failure.c_str());
    }
    return report;
  }

  const std::string& strategy_;
  const DemoOptions& options_;
  const DemoWorkload& workload_;
  Interrupts& interrupts_;
  DemoFleet fleet_;
};

}  // namespace

bool Interrupts::within(std::chrono::milliseconds time) {
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(time);
  const timespec wait{whole.count(), std::chrono::nanoseconds(time - whole).count()};
  interrupted_ = interrupted_ || sigtimedwait(&signals_, nullptr, &wait) > 0;
  return interrupted_;
}

Result<std::optional<StrategyReport>> run_strategy(const std::string& strategy,
                                                   const DemoOptions& options,
                                                   const DemoWorkload& workload,
                                                   Interrupts& interrupts) {
  return StrategyRun(strategy, options, workload, interrupts).run();
}

}  // namespace rolter::cli
