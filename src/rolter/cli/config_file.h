#pragma once

#include <optional>
#include <string>

#include "rolter/config/config.h"

namespace rolter::cli {

/// What a file holds, and what there is to say about it.
struct ConfigFile {
  std::optional<config::Config> config;  // absent when it cannot be used
  std::string findings;                  // one a line, each with its place and the mend
};

/// Reads and checks a configuration file, with the process's environment.
[[nodiscard]] ConfigFile load_config_file(const std::string& path);

/// Reads and checks a configuration file, with the process's environment. Findings go to stderr,
/// one a line. nullopt when it cannot be used.
[[nodiscard]] std::optional<config::Config> read_config_file(const std::string& path);

}  // namespace rolter::cli
