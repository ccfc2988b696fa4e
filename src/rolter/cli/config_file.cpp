#include "rolter/cli/config_file.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "rolter/config/load.h"

namespace rolter::cli {

std::optional<config::Config> read_config_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "%s: error: cannot be read: %s\n", path.c_str(), std::strerror(errno));
    return std::nullopt;
  }
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  auto loaded =
      config::load_config(text, path, [](const std::string& name) -> std::optional<std::string> {
        const char* value = std::getenv(name.c_str());
        return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
      });
  for (const config::Finding& finding : loaded.findings) {
    std::fprintf(stderr, "%s\n", config::format_finding(path, finding).c_str());
  }
  return std::move(loaded.config);
}

}  // namespace rolter::cli
