#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "rolter/kvcache/chain_key.h"

namespace rolter::kvcache {

/// Leading keys that two chains have in common after the same beginning. A key stands for all
/// before it, so this is a binary search.
[[nodiscard]] inline std::size_t common_length(std::span<const ChainKey> a,
                                               std::span<const ChainKey> b) {
  std::size_t equal = 0;
  std::size_t end = std::min(a.size(), b.size());
  while (equal < end) {
    const std::size_t middle = equal + (end - equal) / 2;
    if (a[middle] == b[middle]) {
      equal = middle + 1;
    } else {
      end = middle;
    }
  }
  return equal;
}

}  // namespace rolter::kvcache
