#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "rolter/config/load.h"

namespace rolter::config {

/// `text` with every ${NAME} replaced by the variable's value; `$${` stands for a literal `${`. The
/// error says what is wrong and never repeats a value.
[[nodiscard]] std::expected<std::string, std::string> expand(std::string_view text,
                                                             const Environment& environment);

/// Whether `text` takes any of its value from the environment.
[[nodiscard]] bool has_reference(std::string_view text);

/// The value of the variable `name`, which must be set, not empty and without control characters.
[[nodiscard]] std::expected<std::string, std::string> look_up(std::string_view name,
                                                              const Environment& environment);

/// Line ends, NUL and the like: they could forge a header or a log line.
[[nodiscard]] bool has_control_character(std::string_view text);

}  // namespace rolter::config
