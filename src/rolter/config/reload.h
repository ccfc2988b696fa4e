#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rolter/config/load.h"

namespace rolter::config {

/// Why `next`, though sound by itself, must not replace `running`; nullopt when it may. A gateway
/// that asks for keys is not opened by a file that has merely lost them: it must say so.
[[nodiscard]] std::optional<Finding> refuse_reload(const Config& running, const Config& next);

/// The keys that differ and that only a start looks at.
[[nodiscard]] std::vector<std::string> needs_restart(const Config& running, const Config& next);

}  // namespace rolter::config
