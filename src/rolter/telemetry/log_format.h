#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "rolter/base/time.h"

namespace rolter::telemetry {

enum class LogFormat : std::uint8_t { kJson, kText };
enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarn, kError };

/// "json" or "text"; nullopt for anything else. The configuration has been checked before.
[[nodiscard]] std::optional<LogFormat> parse_log_format(std::string_view name);
[[nodiscard]] std::optional<LogLevel> parse_log_level(std::string_view name);

/// Appends RFC 3339 in UTC with milliseconds: 2026-11-30T07:53:41.123Z. Years 0 to 9999.
void append_time(std::string& out, WallTime time);

}  // namespace rolter::telemetry
