#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace rolter::kvcache {

/// How many leading bytes of a[0, n) and b[0, n) are equal. Made for walks down a tree, where every
/// edge but the last is equal as a whole: first one memcmp, which the C library does with the
/// widest vectors of the machine; only where that finds a difference, the place is looked for, 256
/// and then 8 bytes at a time. (std::mismatch goes byte by byte.)
[[nodiscard]] inline std::size_t common_prefix(const char* a, const char* b, std::size_t n) {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  constexpr std::size_t kBlock = 256;
  if (n >= kBlock / 4 && std::memcmp(a, b, n) == 0) {
    return n;
  }
  std::size_t i = 0;
  while (n - i >= kBlock && std::memcmp(a + i, b + i, kBlock) == 0) {
    i += kBlock;
  }
  for (; n - i >= kWord; i += kWord) {
    std::uint64_t x = 0;
    std::uint64_t y = 0;
    std::memcpy(&x, a + i, kWord);
    std::memcpy(&y, b + i, kWord);
    if (x != y) {
      const int zero_bits = std::endian::native == std::endian::little ? std::countr_zero(x ^ y)
                                                                       : std::countl_zero(x ^ y);
      return i + static_cast<std::size_t>(zero_bits) / 8;
    }
  }
  while (i < n && a[i] == b[i]) {
    ++i;
  }
  return i;
}

}  // namespace rolter::kvcache
