#include "rolter/openai/json_string.h"

#include <cstdint>
#include <optional>

#include "rolter/openai/byte_search.h"

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

/// What a one-letter escape stands for, 0 when there is none such.
constexpr std::array<char, 256> kSimpleEscapes = [] {
  std::array<char, 256> table{};
  table['"'] = '"';
  table['\\'] = '\\';
  table['/'] = '/';
  table['b'] = '\b';
  table['f'] = '\f';
  table['n'] = '\n';
  table['r'] = '\r';
  table['t'] = '\t';
  return table;
}();

char simple_escape(char letter) {
  return kSimpleEscapes[static_cast<unsigned char>(letter)];
}

/// Copies up to the next backslash or `end`. Writes at most `end - from` bytes.
const char* copy_plain(const char* from, const char* end, char*& out) {
  constexpr std::ptrdiff_t kWord = 8;
  constexpr int kVectors = 4;
  constexpr std::ptrdiff_t kVector = sizeof(Bytes16);
  constexpr std::ptrdiff_t kBlock = kVectors * kVector;
  for (; end - from >= kBlock && !contains<kVectors>(from, '\\'); from += kBlock, out += kBlock) {
    std::memcpy(out, from, kBlock);
  }
  for (; end - from >= kVector && !contains<1>(from, '\\'); from += kVector, out += kVector) {
    std::memcpy(out, from, kVector);
  }
  for (; end - from >= kWord; from += kWord, out += kWord) {
    std::memcpy(out, from, kWord);
    if (const std::uint64_t found = matches(load_word(from), '\\'); found != 0) {
      out += first_match(found);
      return from + first_match(found);
    }
  }
  while (from < end && *from != '\\') {
    *out++ = *from++;
  }
  return from;
}

}  // namespace

bool append_unescaped(std::string& out, std::string_view escaped) {
  bool good = true;
  const std::size_t before = out.size();
  out.resize_and_overwrite(before + escaped.size(), [&](char* buffer, std::size_t) {
    char* to = buffer + before;
    const char* at = escaped.data();
    const char* const end = at + escaped.size();
    while ((at = copy_plain(at, end, to)) < end) {
      if (end - at > 1 && simple_escape(at[1]) != 0) {
        *to++ = simple_escape(at[1]);
        at += 2;
        continue;
      }
      const Unescaped one = unescape_one({at, static_cast<std::size_t>(end - at)});
      if (one.consumed == 0) {
        good = false;
        break;
      }
      std::memcpy(to, one.bytes.data(), one.size);
      to += one.size;
      at += one.consumed;
    }
    return static_cast<std::size_t>(to - buffer);
  });
  return good;
}

Unescaped unescape_one(std::string_view text) {
  if (text.size() < 2) {
    return {};
  }
  if (const char simple = simple_escape(text[1]); simple != 0) {
    return {{simple}, 1, 2};
  }
  return text[1] == 'u' ? unescape_unicode(text) : Unescaped{};
}

}  // namespace rolter::openai
