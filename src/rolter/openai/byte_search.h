#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace rolter::openai {

/// Of UTF-8; engines accept it before a body.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// Eight bytes at once, the first in the lowest bits.
[[nodiscard]] inline std::uint64_t load_word(const char* from) {
  static_assert(std::endian::native == std::endian::little);
  std::uint64_t word;
  std::memcpy(&word, from, sizeof(word));
  return word;
}

/// Non-zero when a byte of `word` is `c`; first_match() tells which is the first.
[[nodiscard]] constexpr std::uint64_t matches(std::uint64_t word, char c) {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  const std::uint64_t zero_where_equal = word ^ kOnes * static_cast<unsigned char>(c);
  return (zero_where_equal - kOnes) & ~zero_where_equal & (kOnes << 7);
}

[[nodiscard]] constexpr int first_match(std::uint64_t matches) {
  return std::countr_zero(matches) / 8;
}

/// Sixteen bytes at once: a vector register of any 64-bit processor.
using Bytes16 [[gnu::vector_size(16)]] = char;

[[nodiscard]] inline Bytes16 load_bytes(const char* from) {
  Bytes16 bytes;
  std::memcpy(&bytes, from, sizeof(bytes));
  return bytes;
}

/// Of a comparison of two Bytes16: where the first byte is that matched, or 16.
template <typename Comparison>
[[nodiscard]] inline std::size_t first_set(Comparison comparison) {
  static_assert(sizeof(comparison) == sizeof(Bytes16));
#ifdef __SSE2__
  const int mask = _mm_movemask_epi8(std::bit_cast<__m128i>(comparison));
  return static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(mask) | 0x10000U));
#else
  const auto [low, high] = std::bit_cast<std::array<std::uint64_t, 2>>(comparison);
  const int zeros = low != 0 ? std::countr_zero(low) : 64 + std::countr_zero(high);
  return static_cast<std::size_t>(zeros) / 8;
#endif
}

/// Whether one of the `Count` * 16 bytes at `from` is `c`.
template <int Count>
[[nodiscard]] inline bool contains(const char* from, char c) {
  auto found = load_bytes(from) == c;
  for (int i = 1; i < Count; ++i) {
    found |= load_bytes(from + i * sizeof(Bytes16)) == c;
  }
  return __builtin_reduce_or(found) != 0;
}

/// The first `c` in [from, end), or end.
[[nodiscard]] inline const char* find_byte(const char* from, const char* end, char c) {
  const void* found = std::memchr(from, c, static_cast<std::size_t>(end - from));
  return found == nullptr ? end : static_cast<const char*>(found);
}

}  // namespace rolter::openai
