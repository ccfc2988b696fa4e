#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace rolter::telemetry {

/// Status codes that have a series of their own, and the classes that hold the rest: a replica that
/// answers with invented codes makes no new series.
inline constexpr std::array<std::string_view, 23> kStatusNames{
    "200", "400", "401", "403", "404", "405", "408", "409", "413", "415", "422", "429",
    "431", "499", "500", "501", "502", "503", "504", "2xx", "3xx", "4xx", "5xx"};

inline constexpr std::size_t kStatusLabels = kStatusNames.size();

/// Index into kStatusNames. A code outside 200..599 is counted as "5xx": nothing sane sends it.
[[nodiscard]] std::size_t status_label_index(int status);

/// Shown even while zero, so that a rate over them works from the first request on.
[[nodiscard]] bool status_shown_at_zero(std::size_t index);

}  // namespace rolter::telemetry
