#include "rolter/config/environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>

namespace rolter::config {
namespace {

constexpr std::string_view kUpper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
constexpr std::string_view kLower = "abcdefghijklmnopqrstuvwxyz";

bool is_variable_name(std::string_view name) {
  const bool starts_with_digit = !name.empty() && name.front() >= '0' && name.front() <= '9';
  return !name.empty() && !starts_with_digit &&
         name.find_first_not_of(std::string(kUpper).append(kLower)) == std::string_view::npos;
}

/// Names in the usual form are shown; anything else may be a secret put in the wrong place.
std::string shown(std::string_view name) {
  const bool usual = name.find_first_not_of(kUpper) == std::string_view::npos;
  return usual ? fmt::format("environment variable {}", name)
               : std::string("the environment variable named here");
}

std::expected<std::string, std::string> value_of(std::string_view name,
                                                 const Environment& environment) {
  if (!is_variable_name(name)) {
    return std::unexpected("not the name of an environment variable (letters, digits and _)");
  }
  std::optional<std::string> value = environment ? environment(std::string(name)) : std::nullopt;
  if (!value) {
    return std::unexpected(shown(name) + " is not set");
  }
  return *std::move(value);
}

}  // namespace

std::expected<std::string, std::string> look_up(std::string_view name,
                                                const Environment& environment) {
  auto value = value_of(name, environment);
  if (value && value->empty()) {
    return std::unexpected(shown(name) + " is empty");
  }
  if (value && has_control_character(*value)) {
    return std::unexpected(shown(name) + " holds a control character, such as a line end");
  }
  return value;
}

bool has_control_character(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

bool has_reference(std::string_view text) {
  for (std::size_t at = text.find("${"); at != std::string_view::npos;
       at = text.find("${", at + 2)) {
    if (at == 0 || text[at - 1] != '$') {
      return true;
    }
  }
  return false;
}

std::expected<std::string, std::string> expand(std::string_view text,
                                               const Environment& environment) {
  std::string out;
  while (true) {
    const std::size_t at = text.find("${");
    out += text.substr(0, at);
    if (at == std::string_view::npos) {
      return out;
    }
    text.remove_prefix(at + 2);
    if (!out.empty() && at > 0 && out.back() == '$') {
      out += '{';
      continue;
    }
    const std::size_t end = text.find('}');
    if (end == std::string_view::npos) {
      return std::unexpected("\"${\" without \"}\"; write $${ for a literal ${");
    }
    auto value = value_of(text.substr(0, end), environment);
    if (!value) {
      return std::unexpected(value.error());
    }
    out += *value;
    text.remove_prefix(end + 1);
  }
}

}  // namespace rolter::config
