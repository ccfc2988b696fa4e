#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "rolter/config/load.h"

namespace rolter::config {

using Variables = std::map<std::string, std::string>;

inline LoadResult load(std::string_view text, const Variables& variables = {}) {
  return load_config(
      text, "rolter.toml", [&variables](const std::string& name) -> std::optional<std::string> {
        const auto found = variables.find(name);
        return found == variables.end() ? std::nullopt : std::optional(found->second);
      });
}

/// The findings as `rolter check` prints them.
inline std::vector<std::string> findings(std::string_view text, const Variables& variables = {}) {
  std::vector<std::string> lines;
  for (const Finding& finding : load(text, variables).findings) {
    lines.push_back(format_finding("rolter.toml", finding));
  }
  return lines;
}

/// Only the errors: what a test about errors compares.
inline std::vector<std::string> errors(std::string_view text, const Variables& variables = {}) {
  std::vector<std::string> lines = findings(text, variables);
  std::erase_if(
      lines, [](const std::string& line) { return line.find(": warning: ") != std::string::npos; });
  return lines;
}

/// One provider and one route, on lines 1 to 8; tests append to it from line 9 on.
inline const std::string kSmall = R"([[providers]]
name = "vllm-1"
api_base = "http://localhost:8001"
[[routes]]
model = "llama"
[[routes.targets]]
provider = "vllm-1"
model = "meta-llama/Llama-3.1-8B-Instruct"
)";

/// kSmall with its line `number` replaced.
inline std::string with_line(std::size_t number, std::string_view line) {
  std::string out;
  std::size_t at = 0;
  for (std::size_t i = 1; at < kSmall.size(); ++i) {
    const std::size_t end = kSmall.find('\n', at);
    out += i == number ? std::string(line) : kSmall.substr(at, end - at);
    out += '\n';
    at = end + 1;
  }
  return out;
}

/// What stands in one line of kSmall, and the one error that it makes.
struct LineFault {
  std::size_t line;
  std::string toml;
  std::string error;
};

inline void PrintTo(const LineFault& fault, std::ostream* out) {
  *out << fault.toml;
}

}  // namespace rolter::config
