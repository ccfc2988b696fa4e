#pragma once

#include <span>
#include <string>
#include <string_view>

namespace rolter::config {

/// The candidate that `word` most likely means: at most a third of its letters wrong, missing,
/// surplus or swapped with a neighbour, or one the beginning of the other ("warning", "warn"). ""
/// when none is near.
[[nodiscard]] std::string_view nearest(std::string_view word,
                                       std::span<const std::string_view> candidates);

/// `; did you mean "cache_aware"?`, or `<otherwise> a, b, c` when nothing is near.
[[nodiscard]] std::string suggestion(std::string_view word,
                                     std::span<const std::string_view> candidates,
                                     std::string_view otherwise);

}  // namespace rolter::config
