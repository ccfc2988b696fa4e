#pragma once

#include <optional>

#include "rolter/config/load.h"

namespace rolter::config {

/// Why `next`, though sound by itself, must not replace `running`; nullopt when it may. A gateway
/// that asks for keys is not opened by a file that has merely lost them: it must say so.
[[nodiscard]] std::optional<Finding> refuse_reload(const Config& running, const Config& next);

}  // namespace rolter::config
