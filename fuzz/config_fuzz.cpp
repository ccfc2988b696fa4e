// Any text as a configuration file: it loads or says why not, in findings of one line each that lie
// within the text, are the same every time, and never repeat what the environment holds.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "rolter/config/load.h"

namespace {

using rolter::config::Config;
using rolter::config::Finding;
using rolter::config::LoadResult;
using rolter::config::Severity;

constexpr std::string_view kSecret = "hunter2hunter2";

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

LoadResult load(std::string_view text) {
  return rolter::config::load_config(text, "fuzz.toml", [](const std::string& name) {
    return name == "UNSET" ? std::nullopt : std::optional(std::string(kSecret));
  });
}

void check_finding(const Finding& finding, std::string_view text) {
  const std::string line = rolter::config::format_finding("fuzz.toml", finding);
  require(line.find('\n') == std::string::npos);
  require(finding.line <= static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1);
  if (text.find(kSecret) == std::string_view::npos) {
    require(line.find(kSecret) == std::string::npos);
  }
}

void check_config(const Config& config) {
  require(!config.providers.empty() && !config.routes.empty());
  for (const auto& provider : config.providers) {
    require(!provider.name.empty() && !provider.api_base.host.empty());
  }
  for (const auto& route : config.routes) {
    require(!route.model.empty() && !route.targets.empty());
    require(route.threshold >= 0 && route.threshold <= 1);
    for (const auto& target : route.targets) {
      require(target.provider < config.providers.size() && target.weight > 0);
    }
  }
  for (const auto& key : config.virtual_keys) {
    require(!key.key.empty());
  }
  require(!rolter::config::summarize(config).empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const LoadResult result = load(text);
  const bool has_error = std::ranges::any_of(
      result.findings, [](const Finding& finding) { return finding.severity == Severity::kError; });
  require(result.config.has_value() == !has_error);
  for (const Finding& finding : result.findings) {
    check_finding(finding, text);
  }
  if (result.config) {
    check_config(*result.config);
    require(load(text).config == result.config);
  }
  return 0;
}
