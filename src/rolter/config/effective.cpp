#include "rolter/config/effective.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace rolter::config {
namespace {

constexpr auto kNotYetEffective = std::to_array<std::string_view>({
    "routes[].tokenize",
});

/// Walks the document with two names for each place: `path` for people ("routes[0].weights") and
/// `pattern` for the table ("routes[].weights").
class Walk {
 public:
  Walk(std::span<const std::string_view> patterns, Findings& findings)
      : patterns_(patterns), findings_(findings) {}

  void visit(const Value& value, const std::string& path, const std::string& pattern) {
    if (is_listed(pattern)) {
      findings_.warning(value.at, path, "accepted, but without effect in this version");
    } else if (const auto* word = std::get_if<std::string>(&value.data)) {
      if (is_listed(fmt::format("{}={}", pattern, *word))) {
        findings_.warning(
            value.at, path,
            fmt::format("\"{}\" is accepted, but without effect in this version", *word));
      }
    } else if (const auto* table = std::get_if<Table>(&value.data)) {
      const std::string dot = path.empty() ? "" : ".";
      for (const Entry& entry : *table) {
        visit(entry.value, path + dot + entry.key, pattern + dot + entry.key);
      }
    } else if (const auto* array = std::get_if<Array>(&value.data)) {
      for (std::size_t i = 0; i < array->size(); ++i) {
        visit((*array)[i], fmt::format("{}[{}]", path, i), pattern + "[]");
      }
    }
  }

 private:
  [[nodiscard]] bool is_listed(std::string_view pattern) const {
    return std::ranges::find(patterns_, pattern) != patterns_.end();
  }

  std::span<const std::string_view> patterns_;
  Findings& findings_;
};

}  // namespace

std::span<const std::string_view> not_yet_effective() {
  return kNotYetEffective;
}

void warn_without_effect(const Value& document, std::span<const std::string_view> patterns,
                         Findings& findings) {
  Walk(patterns, findings).visit(document, "", "");
}

}  // namespace rolter::config
