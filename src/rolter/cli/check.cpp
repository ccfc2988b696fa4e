#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

#include "rolter/cli/command.h"
#include "rolter/cli/config_file.h"
#include "rolter/cli/live_check.h"
#include "rolter/config/load.h"
#include "rolter/proxy/tls_files.h"

namespace rolter::cli {
namespace {

int check_live(const config::Config& config, bool as_json) {
  HttpTool http;
  const auto reports = check_replicas(config, http);
  std::fputs((as_json ? live_json(reports) : live_text(reports)).c_str(), stdout);
  const bool sound = std::ranges::all_of(
      reports, [](const ReplicaReport& report) { return report.findings.empty(); });
  return sound ? 0 : 1;
}

/// Opens what the configuration names, too: a file that is missing would refuse the start.
int check_file(const std::string& path, bool live, bool as_json) {
  const auto config = read_config_file(path);
  if (!config) {
    return 1;
  }
  if (const auto files = proxy::load_tls_files(*config); !files) {
    std::fprintf(stderr, "%s: error: %s\n", path.c_str(), files.error().message.c_str());
    return 1;
  }
  if (live) {
    return check_live(*config, as_json);
  }
  std::fputs(config::summarize(*config).c_str(), stdout);
  return 0;
}

}  // namespace

void add_check(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("check", "Check a configuration file and sum it up");
  auto path = std::make_shared<std::string>();
  command->add_option("-c,--config", *path, "Configuration file (TOML)")
      ->required()
      ->envname("ROLTER_CONFIG");
  auto live = std::make_shared<bool>(false);
  auto json = std::make_shared<bool>(false);
  auto* live_flag = command->add_flag(
      "--live", *live,
      "Ask every replica what it is; exit code 1 when something should be changed. Sends each two "
      "requests for one token");
  command->add_flag("--json", *json, "What --live finds, as JSON")->needs(live_flag);
  command->callback([=, &exit_code] { exit_code = check_file(*path, *live, *json); });
}

}  // namespace rolter::cli
