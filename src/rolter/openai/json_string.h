#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

namespace rolter::openai {

/// The bytes one escape sequence stands for.
struct Unescaped {
  std::array<char, 4> bytes{};
  std::size_t size = 0;      // of bytes
  std::size_t consumed = 0;  // of the text, from the backslash on; 0 = not a valid escape
};

/// Reads the escape at the start of `text`, a surrogate pair as one. A lone surrogate becomes its
/// three bytes as UTF-8 would write it (WTF-8): it is forwarded to the engine as it came, and two
/// different ones must not look alike.
[[nodiscard]] Unescaped unescape_one(std::string_view text);

/// Passes what stands between the quotes of a JSON string, unescaped, to `sink(string_view)` piece
/// by piece. False when an escape is not valid; the pieces before it have been passed.
template <typename Sink>
[[nodiscard]] bool unescape(std::string_view escaped, Sink&& sink) {
  while (!escaped.empty()) {
    const void* found = std::memchr(escaped.data(), '\\', escaped.size());
    if (found == nullptr) {
      sink(escaped);
      return true;
    }
    const auto plain = static_cast<std::size_t>(static_cast<const char*>(found) - escaped.data());
    if (plain > 0) {
      sink(escaped.substr(0, plain));
    }
    escaped.remove_prefix(plain);
    const Unescaped one = unescape_one(escaped);
    if (one.consumed == 0) {
      return false;
    }
    sink(std::string_view(one.bytes.data(), one.size));
    escaped.remove_prefix(one.consumed);
  }
  return true;
}

/// Appends what stands between the quotes of a JSON string, unescaped: never more bytes than
/// `escaped` has. False when an escape is not valid; what stands before it has been appended.
/// Copies 8 bytes at a time, about 0.2 ns per byte and a few ns per escape.
[[nodiscard]] bool append_unescaped(std::string& out, std::string_view escaped);

[[nodiscard]] inline bool has_escape(std::string_view escaped) {
  return std::memchr(escaped.data(), '\\', escaped.size()) != nullptr;
}

}  // namespace rolter::openai
