#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rolter/cli/command.h"
#include "rolter/cli/complain.h"
#include "rolter/cli/replay_report.h"
#include "rolter/cli/trace_file.h"
#include "rolter/simulator/replay/comparison.h"
#include "rolter/simulator/replay/generators.h"
#include "rolter/simulator/trace.h"

namespace rolter::cli {
namespace {

namespace replay = simulator::replay;

struct ReplayArguments {
  std::vector<std::string> traces;
  std::string generator;
  std::vector<std::string> strategies = {"round_robin", "cache_aware", "oracle"};
  replay::ComparisonOptions comparison;
  double session_rate = 0.0;  // 0 = by the number of replicas
  double index_lag_s = 1.0;
  bool no_events = false;
  std::string sweep;
  bool json = false;
};

/// Session starts a second and replica of the routing studies on agent sessions.
constexpr double kSessionsPerReplica = 0.005;

Result<replay::Workload> load_workload(const ReplayArguments& arguments) {
  const double rate =
      arguments.session_rate > 0.0
          ? arguments.session_rate
          : kSessionsPerReplica * static_cast<double>(arguments.comparison.fleet.replicas);
  std::vector<std::vector<simulator::TraceChain>> traces;
  for (const std::string& path : arguments.traces) {
    const auto text = read_trace_file(path);
    if (!text) {
      return std::unexpected(text.error());
    }
    auto chains = simulator::read_trace(*text, {arguments.comparison.pace.seed, rate});
    if (!chains) {
      return fail(chains.error().kind, path + ": " + chains.error().message);
    }
    traces.push_back(std::move(*chains));
  }
  if (!arguments.generator.empty()) {
    traces.push_back(replay::generate(arguments.generator, arguments.comparison.pace.seed));
  }
  if (traces.empty()) {
    return fail(ErrorKind::kInvalidInput,
                "nothing to replay: name a trace file, or a workload with --gen");
  }
  return replay::make_workload(std::move(traces));
}

/// "load=A:B".
std::optional<replay::LoadRange> read_range(std::string_view text) {
  constexpr std::string_view kName = "load=";
  if (!text.starts_with(kName)) {
    return std::nullopt;
  }
  text.remove_prefix(kName.size());
  replay::LoadRange range;
  const char* const end = text.data() + text.size();
  const auto least = std::from_chars(text.data(), end, range.least);
  if (least.ec != std::errc() || least.ptr == end || *least.ptr != ':') {
    return std::nullopt;
  }
  const auto most = std::from_chars(least.ptr + 1, end, range.most);
  const bool is_range =
      most.ec == std::errc() && most.ptr == end && range.least > 0.0 && range.least < range.most;
  return is_range ? std::optional(range) : std::nullopt;
}

/// One line on a terminal, rewritten; nothing elsewhere.
class ProgressLine {
 public:
  explicit ProgressLine(std::size_t requests) : requests_(requests) {}
  ~ProgressLine() {
    if (terminal_) {
      std::fputs("\r\033[K", stderr);
    }
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  [[nodiscard]] replay::Progress of(std::string strategy) const {
    if (!terminal_) {
      return {};
    }
    return [strategy = std::move(strategy), requests = requests_](std::size_t done) {
      constexpr std::size_t kWidth = 40;
      const std::size_t filled = requests == 0 ? kWidth : done * kWidth / requests;
      std::fprintf(stderr, "\r\033[K%-20s [%s%s] %zu of %zu requests", strategy.c_str(),
                   std::string(filled, '#').c_str(), std::string(kWidth - filled, ' ').c_str(),
                   done, requests);
    };
  }
  void say(const std::string& what) const {
    if (terminal_) {
      std::fprintf(stderr, "\r\033[K%s", what.c_str());
    }
  }

 private:
  std::size_t requests_;
  bool terminal_ = isatty(STDERR_FILENO) == 1;
};

std::vector<ReplayReport> compare(const ReplayArguments& arguments,
                                  const replay::Workload& workload,
                                  const std::optional<replay::LoadRange>& sweep) {
  const replay::Comparison comparison(workload, arguments.comparison);
  const ProgressLine progress(workload.requests);
  // The scale of the normalised hit rate, whether they are listed or not.
  const double round_robin =
      comparison.run("round_robin", progress.of("round_robin")).token_hit_rate();
  const double pooled = comparison.run("pooled_lru", progress.of("pooled_lru")).token_hit_rate();
  std::vector<ReplayReport> reports;
  for (const std::string& strategy : arguments.strategies) {
    ReplayReport& report = reports.emplace_back();
    report.strategy = strategy;
    report.outcome = comparison.run(strategy, progress.of(strategy));
    report.normalised_hit_rate =
        replay::normalised_hit_rate(report.outcome.token_hit_rate(), round_robin, pooled);
    if (sweep) {
      progress.say(fmt::format("{:<20} looking for the sustainable load", strategy));
      report.sustainable_load = comparison.sustainable_load(strategy, *sweep);
    }
  }
  return reports;
}

int run_replay(ReplayArguments& arguments) {
  if (!arguments.no_events) {
    arguments.comparison.index_lag =
        std::chrono::duration_cast<Duration>(std::chrono::duration<double>(arguments.index_lag_s));
  }
  const auto sweep = read_range(arguments.sweep);
  if (!arguments.sweep.empty() && !sweep) {
    return complain("--sweep: expected load=A:B with 0 < A < B, got \"" + arguments.sweep + "\"");
  }
  const auto workload = load_workload(arguments);
  if (!workload) {
    return complain(workload.error().message);
  }
  for (const std::string& strategy : arguments.strategies) {
    if (!replay::Comparison(*workload, arguments.comparison).knows(strategy)) {
      return complain("--strategy: \"" + strategy + "\" is not in this version");
    }
  }
  const auto reports = compare(arguments, *workload, sweep);
  const LoadColumn load = sweep ? LoadColumn::kShown : LoadColumn::kHidden;
  const std::string text =
      arguments.json ? replay_json(reports, load) + "\n" : replay_table(reports, load);
  std::fputs(text.c_str(), stdout);
  return 0;
}

std::string check_strategy(const std::string& name) {
  const std::vector<std::string_view> names = replay::Comparison::names();
  if (std::ranges::find(names, name) != names.end()) {
    return {};
  }
  return fmt::format("no strategy \"{}\"; there are {}", name, fmt::join(names, ", "));
}

/// CLI11 lets NaN through its ranges and wraps a negative seed.
std::string check_finite(const std::string& text) {
  const char* const end = text.data() + text.size();
  double value = 0.0;
  const auto read = std::from_chars(text.data(), end, value);
  return read.ec == std::errc() && read.ptr == end && std::isfinite(value)
             ? std::string()
             : fmt::format("\"{}\" is not a finite number", text);
}

std::string check_whole(const std::string& text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  return read.ec == std::errc() && read.ptr == end
             ? std::string()
             : fmt::format("\"{}\" is not a whole number from 0 on", text);
}

void add_workload_options(CLI::App& command, ReplayArguments& arguments) {
  replay::ComparisonOptions& options = arguments.comparison;
  command
      .add_option("TRACE", arguments.traces,
                  "Public traces, played at once: Mooncake's JSON lines or sessions of "
                  "kv-cache-tester, .gz or not")
      ->check(CLI::ExistingFile);
  const std::vector<std::string_view> generators = replay::generator_names();
  command
      .add_option("--gen", arguments.generator,
                  fmt::format("A made-up workload: {}", fmt::join(generators, ", ")))
      ->check(CLI::IsMember(std::vector<std::string>(generators.begin(), generators.end())));
  command.add_option("--load", options.pace.load, "Starts come so many times as fast")
      ->check(check_finite)
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command
      .add_option("--session-rate", arguments.session_rate,
                  "Session starts a second, for traces of sessions; 0 = 0.005 per replica")
      ->check(check_finite)
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      .add_option("--settle", options.pace.settles_after,
                  "Counts only what comes after so many prompts since the first eviction")
      ->check(check_whole);
  command.add_option("--seed", options.pace.seed, "Of starts and choices")
      ->check(check_whole)
      ->capture_default_str();
}

void add_fleet_options(CLI::App& command, ReplayArguments& arguments) {
  replay::ComparisonOptions& options = arguments.comparison;
  command
      .add_option("--strategy", arguments.strategies,
                  "Strategies and reference policies, one after the other")
      ->delimiter(',')
      ->check(check_strategy)
      ->capture_default_str();
  command.add_option("--replicas", options.fleet.replicas, "Virtual replicas")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command
      .add_option("--blocks", options.fleet.blocks,
                  "Prefix cache of a replica in blocks of 512 tokens; several: of the replicas in "
                  "turn")
      ->delimiter(',')
      ->check(CLI::Range(1U, 100'000'000U))
      ->default_str("2000");
  command
      .add_option("--prefill-tps", options.fleet.engine.prefill_tps,
                  "Prompt tokens a second and replica")
      ->check(check_finite)
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command
      .add_option("--max-in-flight", options.max_in_flight,
                  "Requests a strategy may have at a target, beyond which they are refused; 0 = no "
                  "limit")
      ->check(check_whole)
      ->capture_default_str();
  command
      .add_option("--index-lag", arguments.index_lag_s,
                  "Seconds after which KV events tell of a change")
      ->check(check_finite)
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_flag("--no-events", arguments.no_events,
                   "No KV events and no token ids: strategies know what they sent");
  command.add_flag(
      "!--no-cached-tokens", options.reports_cached,
      "Engines do not say how much of a prompt they found: nothing is learned of their "
      "capacity");
  command
      .add_option("--believed-blocks", options.believed_blocks,
                  "Prefix cache that strategies which know what they sent ascribe to each replica "
                  "at first; 0 = no bound")
      ->check(check_whole)
      ->capture_default_str();
  command.add_flag("!--no-replies", options.record_replies,
                   "Strategies do not remember answers, as with record_replies = false");
  command.add_option("--sweep", arguments.sweep,
                     "load=A:B: also look there for the largest load with 90 % of the first tokens "
                     "within 5 s");
  command.add_flag("--json", arguments.json, "The result as JSON on stdout");
}

}  // namespace

void add_replay(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "replay", "Compare strategies on a trace and a fleet in virtual time, without sockets");
  auto arguments = std::make_shared<ReplayArguments>();
  add_workload_options(*command, *arguments);
  add_fleet_options(*command, *arguments);
  command->callback([arguments, &exit_code] { exit_code = run_replay(*arguments); });
}

}  // namespace rolter::cli
