#pragma once

#include <optional>
#include <string>

#include "rolter/config/config.h"

namespace rolter::cli {

/// Reads and checks a configuration file, with the process's environment. Findings go to stderr,
/// one a line. nullopt when it cannot be used.
[[nodiscard]] std::optional<config::Config> read_config_file(const std::string& path);

}  // namespace rolter::cli
