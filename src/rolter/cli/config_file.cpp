#include "rolter/cli/config_file.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "rolter/config/load.h"

namespace rolter::cli {

ConfigFile load_config_file(const std::string& path) {
  std::error_code unknown;  // then opening it says what is wrong
  if (std::filesystem::is_directory(path, unknown)) {
    return {std::nullopt, path + ": error: is a directory; name the file, such as " +
                              (std::filesystem::path(path) / "rolter.toml").string() + "\n"};
  }
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
