#include "rolter/config/suggest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace rolter::config {
namespace {

// Longer words are no typing errors, and the distance costs the product of both lengths.
constexpr std::size_t kLongestWord = 64;
constexpr std::size_t kShortestStem = 4;

/// Optimal string alignment distance: insert, delete, replace, or swap neighbours.
std::size_t edit_distance(std::string_view left, std::string_view right) {
  std::vector<std::size_t> before(right.size() + 1);  // two rows ago
  std::vector<std::size_t> above(right.size() + 1);
  std::vector<std::size_t> row(right.size() + 1);
  for (std::size_t j = 0; j <= right.size(); ++j) {
    above[j] = j;
  }
  for (std::size_t i = 1; i <= left.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= right.size(); ++j) {
      const std::size_t replaced = above[j - 1] + (left[i - 1] == right[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped =
          i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1];
      if (swapped) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before.swap(above);
    above.swap(row);
  }
  return above[right.size()];
}

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  if (word.empty() || word.size() > kLongestWord) {
    return {};
  }
  std::string_view best;
  const std::size_t farthest = word.size() < 3 ? 0 : word.size() / 3;
  std::size_t best_distance = farthest + 1;
  for (const std::string_view candidate : candidates) {
    if (candidate.size() > kLongestWord) {
      continue;
    }
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  if (best.empty() && word.size() >= kShortestStem) {
    const auto shares_stem = [word](std::string_view candidate) {
      return candidate.size() >= kShortestStem &&
             (candidate.starts_with(word) || word.starts_with(candidate));
    };
    const auto found = std::ranges::find_if(candidates, shares_stem);
    best = found == candidates.end() ? std::string_view() : *found;
  }
  return best;
}

std::string suggestion(std::string_view word, std::span<const std::string_view> candidates,
                       std::string_view otherwise) {
  if (const std::string_view near = nearest(word, candidates); !near.empty()) {
    return fmt::format("; did you mean \"{}\"?", near);
  }
  return fmt::format("{} {}", otherwise, fmt::join(candidates, ", "));
}

}  // namespace rolter::config
