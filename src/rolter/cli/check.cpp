#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "rolter/cli/command.h"
#include "rolter/cli/config_file.h"
#include "rolter/config/load.h"

namespace rolter::cli {

void add_check(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("check", "Check a configuration file and sum it up");
  auto path = std::make_shared<std::string>();
  command->add_option("-c,--config", *path, "Configuration file (TOML)")
      ->required()
      ->envname("ROLTER_CONFIG");
  command->callback([path, &exit_code] {
    const auto config = read_config_file(*path);
    if (config) {
      std::fputs(config::summarize(*config).c_str(), stdout);
    }
    exit_code = config ? 0 : 1;
  });
}

}  // namespace rolter::cli
