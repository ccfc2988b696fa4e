#pragma once

#include <span>
#include <string_view>

#include "rolter/config/document.h"
#include "rolter/config/findings.h"

namespace rolter::config {

/// What is accepted and checked but does nothing in this version: the one table that shrinks as
/// features arrive. "queue" is a table with all its keys, "routes[].fallback" a key,
/// "routes[].strategy=pipeline" one value of a key.
[[nodiscard]] std::span<const std::string_view> not_yet_effective();

/// Warns about each part of the file that one of `patterns` names.
void warn_without_effect(const Value& document, std::span<const std::string_view> patterns,
                         Findings& findings);

}  // namespace rolter::config
