#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rolter/cli/command.h"
#include "rolter/cli/demo_fleet.h"
#include "rolter/cli/demo_report.h"
#include "rolter/cli/trace_file.h"
#include "rolter/config/names.h"

namespace rolter::cli {
namespace {

struct DemoOptions {
  std::size_t replicas = 4;
  double seconds = 15.0;
  std::vector<std::string> strategies = {"round_robin", "least_load", "cache_aware"};
  std::string trace;
  bool json = false;
  std::size_t users = 48;
  double speedup = 0.0;  // 0 = by the trace's format
  std::uint32_t blocks = 0;
  std::uint64_t seed = 1;
};

/// Answers that are still under way when time is up may take so long; then they are not counted.
constexpr int kGraceSeconds = 5;
constexpr double kThinkSeconds = 1.0;

/// The chat fleet: conversations of up to 8 turns over 8 system prompts of about 1,200 tokens. A
/// replica's cache holds the system prompts and a quarter of the conversations, not all of them;
/// its prefill keeps up with what a warm fleet misses, not with what a cold one does.
simulator::EngineOptions chat_engine() {
  simulator::EngineOptions engine;
  engine.model = "sim-model";
  engine.limits.block_size = 16;
  engine.limits.blocks = 2'000;
  engine.limits.max_step_tokens = 256;
  engine.speed = {.prefill_tps = 4'000.0, .decode_tps = 100.0};
  return engine;
}

/// What the demo plays: chat of its own, or a trace.
struct Workload {
  simulator::ChatWorkload chat{{}, 1};
  std::vector<simulator::TraceChain> trace;
  double speedup = 1.0;
  simulator::EngineOptions engine = chat_engine();
};

bool has_sessions(const std::vector<simulator::TraceChain>& chains) {
  return std::ranges::any_of(
      chains, [](const simulator::TraceChain& chain) { return chain.calls.size() > 1; });
}

/// Replica speeds of the routing studies on these traces, divided by the shrinking of the prompts
/// and multiplied by the speed-up: 48,000 prefill tokens per second for the whole fleet on chat,
/// 8,000 for each replica on sessions; 25 ms per generated token.
void scale_engine(Workload& workload, std::size_t replicas, bool sessions) {
  const double scale = workload.speedup / static_cast<double>(simulator::kTraceShrink);
  const double prefill = sessions ? 8'000.0 : 48'000.0 / static_cast<double>(replicas);
  workload.engine.speed = {.prefill_tps = prefill * scale, .decode_tps = 40.0 * scale};
  workload.engine.limits.max_step_tokens = 2'048 / simulator::kTraceShrink;
}

Result<Workload> make_workload(const DemoOptions& options) {
  Workload workload;
  workload.chat = simulator::ChatWorkload({}, options.seed);
  if (!options.trace.empty()) {
    const auto text = read_trace_file(options.trace);
    if (!text) {
      return std::unexpected(text.error());
    }
    const double sessions_per_s = 0.005 * static_cast<double>(options.replicas);
    auto chains = simulator::read_trace(*text, {options.seed, sessions_per_s});
    if (!chains) {
      return std::unexpected(chains.error());
    }
    workload.trace = std::move(*chains);
    const bool sessions = has_sessions(workload.trace);
    workload.speedup = options.speedup > 0.0 ? options.speedup : sessions ? 100.0 : 30.0;
    scale_engine(workload, options.replicas, sessions);
  }
  if (options.blocks > 0) {
    workload.engine.limits.blocks = options.blocks;
  }
  workload.engine.seed = options.seed;
  return workload;
}

/// Signals that end the demo; blocked in every thread, awaited here.
class Interrupts {
 public:
  Interrupts() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  }
  /// Whether one came within the time.
  bool within(std::chrono::milliseconds time) {
    const auto whole = std::chrono::duration_cast<std::chrono::seconds>(time);
    const timespec wait{whole.count(), std::chrono::nanoseconds(time - whole).count()};
    interrupted_ = interrupted_ || sigtimedwait(&signals_, nullptr, &wait) > 0;
    return interrupted_;
  }
  [[nodiscard]] bool interrupted() const { return interrupted_; }

 private:
  sigset_t signals_{};
  bool interrupted_ = false;
};

struct Totals {
  std::uint64_t prompt = 0;
  std::uint64_t hit = 0;
  std::uint64_t generated = 0;

  [[nodiscard]] double hit_rate() const {
    return prompt == 0 ? 0.0 : static_cast<double>(hit) / static_cast<double>(prompt);
  }
};

Totals totals_of(const std::vector<simulator::SchedulerStats>& replicas) {
  Totals totals;
  for (const simulator::SchedulerStats& replica : replicas) {
    totals.prompt += replica.prompt_tokens;
    totals.hit += replica.hit_tokens;
    totals.generated += replica.generated_tokens;
  }
  return totals;
}

/// One line that is rewritten on a terminal, and otherwise written every five seconds.
void show_progress(const std::string& strategy, int second, double seconds, DemoFleet& fleet) {
  const bool terminal = isatty(STDERR_FILENO) == 1;
  if (!terminal && second % 5 != 0) {
    return;
  }
  const simulator::LoadResult callers = fleet.callers_result();
  const Totals totals = totals_of(fleet.replica_stats());
  const std::string line = fmt::format(
      "{:<20} {:>3} of {:.0f} s   {:>6} answered   {:>3} under way   {:>2} errors   hit {:>5.1f} % "
      "  "
      "TTFT mean {:.3f} s",
      strategy, second, seconds, callers.requests, callers.in_flight, callers.errors,
      totals.hit_rate() * 100.0, mean(callers.first_token_s));
  std::fprintf(stderr, terminal ? "\r%s" : "%s\n", line.c_str());
}

StrategyReport make_report(const std::string& strategy, DemoFleet& fleet, double tokens_per_s) {
  StrategyReport report;
  report.strategy = strategy;
  const simulator::LoadResult callers = fleet.callers_result();
  report.requests = callers.requests;
  report.errors = callers.errors;
  report.refused = callers.refused;
  report.first_token_s = callers.first_token_s;
  report.tokens_per_s = tokens_per_s;
  const std::vector<simulator::SchedulerStats> replicas = fleet.replica_stats();
  report.token_hit_rate = totals_of(replicas).hit_rate();
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    report.targets.push_back({fleet.target_name(i),
                              replicas[i].finished_stop + replicas[i].finished_length,
                              replicas[i].computed_prefill_tokens});
  }
  if (callers.errors > 0) {
    std::fprintf(stderr, "\nlast error: %s", callers.last_failure.c_str());
  }
  return report;
}

/// One strategy on a fresh fleet. Nothing when it was interrupted.
Result<std::optional<StrategyReport>> run_strategy(const std::string& strategy,
                                                   const DemoOptions& options,
                                                   const Workload& workload,
                                                   Interrupts& interrupts) {
  FleetOptions fleet_options;
  fleet_options.replicas = options.replicas;
  fleet_options.engine = workload.engine;
  fleet_options.strategy = *config::strategy_named(strategy);
  if (fleet_options.strategy == config::StrategyKind::kPreciseCacheAware) {
    fleet_options.engine.kv_events.endpoint = "tcp://127.0.0.1:0";
    fleet_options.engine.kv_events.replay_endpoint = "tcp://127.0.0.1:0";
  }
  DemoFleet fleet(fleet_options);
  if (auto started = fleet.start(); !started) {
    return std::unexpected(started.error());
  }
  fleet.with_callers([&](simulator::LoadRun& run) {
    if (workload.trace.empty()) {
      run.start_users(workload.chat, options.users, kThinkSeconds, options.seed);
    } else {
      run.start_trace(workload.trace, workload.speedup);
    }
  });
  const auto ticks = static_cast<int>(options.seconds);
  for (int second = 1; second <= ticks; ++second) {
    if (interrupts.within(std::chrono::seconds(1))) {
      return std::nullopt;
    }
    show_progress(strategy, second, options.seconds, fleet);
  }
  const double generated = static_cast<double>(totals_of(fleet.replica_stats()).generated);
  fleet.with_callers([](simulator::LoadRun& run) { run.stop(); });
  for (int i = 0; i < 10 * kGraceSeconds && fleet.callers_result().in_flight > 0; ++i) {
    if (interrupts.within(std::chrono::milliseconds(100))) {
      return std::nullopt;
    }
  }
  StrategyReport report = make_report(strategy, fleet, generated / options.seconds);
  std::fputs("\n", stderr);
  return report;
}

int run_demo(const DemoOptions& options) {
  Interrupts interrupts;
  const auto workload = make_workload(options);
  if (!workload) {
    std::fprintf(stderr, "rolter: error: %s\n", workload.error().message.c_str());
    return 1;
  }
  const std::string traffic =
      workload->trace.empty()
          ? fmt::format("{} users chatting over 8 shared system prompts", options.users)
          : fmt::format("{} at {:.0f} times its pace", options.trace, workload->speedup);
  std::fprintf(stderr, "%zu simulated replicas with %u blocks of 16 tokens; %s\n", options.replicas,
               workload->engine.limits.blocks, traffic.c_str());
  std::vector<StrategyReport> reports;
  for (const std::string& strategy : options.strategies) {
    auto report = run_strategy(strategy, options, *workload, interrupts);
    if (!report) {
      std::fprintf(stderr, "rolter: error: %s\n", report.error().message.c_str());
      return 1;
    }
    if (!*report) {
      std::fputs("\ninterrupted\n", stderr);
      break;
    }
    reports.push_back(std::move(**report));
  }
  const std::string text = options.json ? report_json(reports) + "\n" : report_table(reports);
  std::fputs(text.c_str(), stdout);
  return interrupts.interrupted() ? 130 : 0;
}

}  // namespace

void add_demo(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "demo", "Compare strategies on simulated replicas, a gateway and traffic in this process");
  auto options = std::make_shared<DemoOptions>();
  command->add_option("--replicas", options->replicas, "Simulated replicas")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command->add_option("--seconds", options->seconds, "Traffic per strategy")
      ->check(CLI::Range(1.0, 86'400.0))
      ->capture_default_str();
  command->add_option("--strategy", options->strategies, "Strategies, one after the other")
      ->delimiter(',')
      ->check([](const std::string& name) {
        return config::strategy_named(name) ? std::string() : "no strategy \"" + name + "\"";
      })
      ->capture_default_str();
  command
      ->add_option("--trace", options->trace,
                   "Public trace instead of generated chat: Mooncake's JSON lines or sessions of "
                   "kv-cache-tester, .gz or not; prompts are shrunk by 32")
      ->check(CLI::ExistingFile);
  command->add_flag("--json", options->json, "The result as JSON on stdout");
  command->add_option("--users", options->users, "Chat users")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  command
      ->add_option("--trace-speedup", options->speedup,
                   "Times the trace's own pace; 0 = 30 for requests, 100 for sessions")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      ->add_option("--blocks", options->blocks,
                   "Cache of a replica in blocks of 16 tokens; 0 = 2,000")
      ->capture_default_str();
  command->add_option("--seed", options->seed, "Of texts, users and starts")->capture_default_str();
  command->callback([options, &exit_code] { exit_code = run_demo(*options); });
}

}  // namespace rolter::cli
