#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rolter/cli/command.h"
#include "rolter/cli/demo_report.h"
#include "rolter/cli/demo_run.h"
#include "rolter/cli/demo_workload.h"
#include "rolter/config/names.h"

namespace rolter::cli {
namespace {

int run_demo(const DemoOptions& options) {
  Interrupts interrupts;
  const auto workload = make_demo_workload(options);
  if (!workload) {
    std::fprintf(stderr, "rolter: error: %s\n", workload.error().message.c_str());
    return 1;
  }
  const std::string traffic =
      workload->is_chat()
          ? fmt::format("{} users in conversations of ten turns over {} system prompts",
                        options.users, workload->chat.shape().system_prompts)
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
  command
      ->add_option("--seconds", options->seconds,
                   "Traffic that counts, per strategy; chat warms up for 5 s before")
      ->check(CLI::Range(1, 86'400))
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
  command->add_flag("--token-ids", options->token_ids,
                    "Callers send their prompts' token ids, for precise_cache_aware");
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
                   "Cache of a replica in blocks of 16 tokens; 0 = 4,000 (chat) or 2,000 (trace)")
      ->capture_default_str();
  command->add_option("--seed", options->seed, "Of texts, users and starts")->capture_default_str();
  command->callback([options, &exit_code] { exit_code = run_demo(*options); });
}

}  // namespace rolter::cli
