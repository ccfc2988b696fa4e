#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rolter::config {

/// One key the loader accepts, as the reference document lists it.
struct KeyInfo {
  std::string path;           // "routes[].targets[].weight"
  std::string_view type;      // "integer", "seconds", "list of strings", ...
  std::string default_value;  // as it would be written in the file; "required"; "" = absent
};

/// Every key, in the order in which the loader asks for them. Taken from the reading code itself,
/// so that it cannot fall behind.
[[nodiscard]] const std::vector<KeyInfo>& accepted_keys();

/// The table a path belongs to, as its header is written: "retry.budget" -> "[retry]",
/// "routes[].targets[].weight" -> "[[routes.targets]]", "" for a key of the root.
[[nodiscard]] std::string table_header(std::string_view path);

}  // namespace rolter::config
