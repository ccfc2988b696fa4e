#include "rolter/openai/json_string.h"

#include <cstdint>
#include <optional>

namespace rolter::openai {
namespace {

constexpr std::size_t kUnicodeEscape = 6;  // \uXXXX

std::optional<std::uint32_t> hex_digit(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  if (c >= 'a' && c <= 'f') {
    return c - 'a' + 10;
  }
  if (c >= 'A' && c <= 'F') {
    return c - 'A' + 10;
  }
  return std::nullopt;
}

/// The code unit of a "\uXXXX" at the start of `text`.
std::optional<std::uint32_t> code_unit(std::string_view text) {
  if (text.size() < kUnicodeEscape || text[0] != '\\' || text[1] != 'u') {
    return std::nullopt;
  }
  std::uint32_t unit = 0;
  for (const char c : text.substr(2, 4)) {
    const auto digit = hex_digit(c);
    if (!digit) {
      return std::nullopt;
    }
    unit = unit << 4 | *digit;
  }
  return unit;
}

Unescaped encode(std::uint32_t code_point, std::size_t consumed) {
  const auto lead = [code_point](int shift, std::uint32_t mark) {
    return static_cast<char>(mark | code_point >> shift);
  };
  const auto tail = [code_point](int shift) {
    return static_cast<char>(0x80 | (code_point >> shift & 0x3F));
  };
  if (code_point < 0x80) {
    return {{static_cast<char>(code_point)}, 1, consumed};
  }
  if (code_point < 0x800) {
    return {{lead(6, 0xC0), tail(0)}, 2, consumed};
  }
  if (code_point < 0x10000) {
    return {{lead(12, 0xE0), tail(6), tail(0)}, 3, consumed};
  }
  return {{lead(18, 0xF0), tail(12), tail(6), tail(0)}, 4, consumed};
}

bool is_high_surrogate(std::uint32_t unit) {
  return unit >= 0xD800 && unit < 0xDC00;
}
bool is_low_surrogate(std::uint32_t unit) {
  return unit >= 0xDC00 && unit < 0xE000;
}

Unescaped unescape_unicode(std::string_view text) {
  const auto unit = code_unit(text);
  if (!unit) {
    return {};
  }
  if (is_high_surrogate(*unit)) {
    const auto low = code_unit(text.substr(kUnicodeEscape));
    if (low && is_low_surrogate(*low)) {
      const std::uint32_t code_point = 0x10000 + ((*unit - 0xD800) << 10) + (*low - 0xDC00);
      return encode(code_point, 2 * kUnicodeEscape);
    }
  }
  return encode(*unit, kUnicodeEscape);
}

}  // namespace

Unescaped unescape_one(std::string_view text) {
  if (text.size() < 2) {
    return {};
  }
  switch (text[1]) {
    case '"':
    case '\\':
    case '/':
      return {{text[1]}, 1, 2};
    case 'b':
      return {{'\b'}, 1, 2};
    case 'f':
      return {{'\f'}, 1, 2};
    case 'n':
      return {{'\n'}, 1, 2};
    case 'r':
      return {{'\r'}, 1, 2};
    case 't':
      return {{'\t'}, 1, 2};
    case 'u':
      return unescape_unicode(text);
    default:
      return {};
  }
}

}  // namespace rolter::openai
