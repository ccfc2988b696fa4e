#include "rolter/cli/config_file.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "rolter/config/load.h"

namespace rolter::cli {

ConfigFile load_config_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return {std::nullopt, path + ": error: cannot be read: " + std::strerror(errno) + "\n"};
  }
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  auto loaded =
      config::load_config(text, path, [](const std::string& name) -> std::optional<std::string> {
        const char* value = std::getenv(name.c_str());
        return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
      });
  ConfigFile read{std::move(loaded.config), {}};
  for (const config::Finding& finding : loaded.findings) {
    read.findings += config::format_finding(path, finding) + '\n';
  }
  return read;
}

std::optional<config::Config> read_config_file(const std::string& path) {
  ConfigFile read = load_config_file(path);
  std::fputs(read.findings.c_str(), stderr);
  return std::move(read.config);
}

}  // namespace rolter::cli
