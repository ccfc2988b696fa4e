#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rolter/config/config.h"

namespace rolter::config {

enum class Severity : std::uint8_t { kError, kWarning };

/// One finding about a configuration file: where, which key, what is wrong and the mend. Never
/// holds a secret's value.
struct Finding {
  Severity severity = Severity::kError;
  std::size_t line = 0;    // from 1; 0 = the file as a whole
  std::size_t column = 0;  // from 1
  std::string key;         // "routes[0].strategy"
  std::string message;     // `unknown strategy "cache_awar"; did you mean "cache_aware"?`
};

/// `FILE:LINE:COL: error: routes[0].strategy: unknown strategy ...`
[[nodiscard]] std::string format_finding(std::string_view file, const Finding& finding);

/// config is absent when any finding is an error. All faults are found in one run.
struct LoadResult {
  std::optional<Config> config;
  std::vector<Finding> findings;
};

/// Looks up environment variables; nullopt = not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

/// Parses and validates `text`, the content of `file`. Pure: reads neither the disk nor the
/// environment (TLS and CA files are opened by whoever uses them).
[[nodiscard]] LoadResult load_config(std::string_view text, std::string_view file,
                                     const Environment& environment);

/// A few lines for `rolter check`: listeners, providers, routes and their strategies; no secrets.
[[nodiscard]] std::string summarize(const Config& config);

}  // namespace rolter::config
