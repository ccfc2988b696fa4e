#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "rolter/base/time.h"

namespace rolter::cluster {

/// Reads a Retry-After field (RFC 9110, 10.2.3): delta-seconds, or an HTTP date in any of its three
/// forms (5.6.7), which is turned into the time from `now` on, 0 when it is past. nullopt when the
/// field is neither. Never more than a year, however large the number; callers clamp it further.
[[nodiscard]] std::optional<std::chrono::seconds> parse_retry_after(std::string_view field,
                                                                    WallTime now);

/// Reads an HTTP date: "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT" or
/// "Sun Nov  6 08:49:37 1994". The day's name is not checked. A two-digit year more than 50 years
/// after `now` is one of the past, as RFC 9110 wants it.
[[nodiscard]] std::optional<WallTime> parse_http_date(std::string_view text, WallTime now);

}  // namespace rolter::cluster
