#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace rolter::openai {

/// Why a text is not JSON, and at which byte when that is known.
struct JsonFault {
  std::string_view what;
  std::optional<std::size_t> offset;
};

/// A JSON text that has been checked whole, so that walking it cannot fail: UTF-8, brackets, commas
/// and colons, literals and numbers (NaN and Infinity pass, as in the engine's own parser). Escapes
/// inside strings are checked where a string is unescaped.
///
/// Built on simdjson's first stage alone, which finds the tokens and checks UTF-8 at several GB/s.
/// Its on-demand layer is not used: it hides positions and depth, does not check what it skips, and
/// refuses lone surrogates, which are to be forwarded.
///
/// Costs 8 bytes per token of the text while it is read; nothing recurses. Keeps its memory for the
/// next text (up to kKeptBytes). Not thread-safe.
class JsonDocument {
 public:
  /// The engine's own parser gives up at a depth between 1,000 and some thousands.
  static constexpr std::size_t kMaxDepth = 1024;
  /// Readable bytes that must follow a text; their values do not matter.
  static constexpr std::size_t kPadding = 64;
  static constexpr std::size_t kKeptBytes = std::size_t{256} * 1024;

  /// The place of a value, bracket or comma in the text. Good until the next read().
  enum class Token : std::uint32_t {};

  JsonDocument();
  ~JsonDocument();
  JsonDocument(const JsonDocument&) = delete;
  JsonDocument& operator=(const JsonDocument&) = delete;

  /// Reads `text`, which must outlive the walking. Nothing when it is JSON.
  [[nodiscard]] std::optional<JsonFault> read(std::string_view text);

  /// Gives back memory beyond kKeptBytes. Tokens are not usable afterwards.
  void trim();

  [[nodiscard]] Token root() const { return Token{0}; }
  [[nodiscard]] bool is_object(Token token) const { return first_char(token) == '{'; }
  [[nodiscard]] bool is_array(Token token) const { return first_char(token) == '['; }
  [[nodiscard]] bool is_string(Token token) const { return first_char(token) == '"'; }
  [[nodiscard]] bool is_null(Token token) const { return first_char(token) == 'n'; }
  [[nodiscard]] bool is_number(Token token) const {
    const char c = first_char(token);
    return c == '-' || (c >= '0' && c <= '9');
  }

  /// The text of a string (with its quotes), number or literal.
  [[nodiscard]] std::string_view scalar(Token token) const {
    const auto at = static_cast<std::uint32_t>(token);
    std::uint32_t end = offsets_[at + 1];
    while (end > offsets_[at] && is_space(text_[end - 1])) {
      --end;
    }
    return {text_ + offsets_[at], end - offsets_[at]};
  }

  /// The text of any value, brackets and all.
  [[nodiscard]] std::string_view raw(Token value) const {
    if (!is_object(value) && !is_array(value)) {
      return scalar(value);
    }
    const auto at = static_cast<std::uint32_t>(value);
    return {text_ + offsets_[at], offsets_[closers_[at]] + 1 - offsets_[at]};
  }

  /// What stands between the quotes of a string, still escaped.
  [[nodiscard]] std::string_view escaped(Token string) const {
    const std::string_view quoted = scalar(string);
    return quoted.substr(1, quoted.size() - 2);
  }

  /// Calls visit(escaped key, value) for each member in the order of the text.
  template <typename Visit>
  void for_each_member(Token object, Visit&& visit) const {
    for (std::uint32_t at = static_cast<std::uint32_t>(object) + 1; text_[offsets_[at]] != '}';) {
      const Token value{at + 2};
      visit(escaped(Token{at}), value);
      at = after(value);
      at += text_[offsets_[at]] == ',' ? 1 : 0;
    }
  }

  /// The first element, or the closing bracket of an empty array (which is no value of any kind).
  [[nodiscard]] Token first_element(Token array) const {
    return Token{static_cast<std::uint32_t>(array) + 1};
  }

  /// Calls visit(value) for each element.
  template <typename Visit>
  void for_each_element(Token array, Visit&& visit) const {
    for (std::uint32_t at = static_cast<std::uint32_t>(array) + 1; text_[offsets_[at]] != ']';) {
      const Token value{at};
      visit(value);
      at = after(value);
      at += text_[offsets_[at]] == ',' ? 1 : 0;
    }
  }

 private:
  struct Indexer;

  static bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
  [[nodiscard]] char first_char(Token token) const {
    return text_[offsets_[static_cast<std::uint32_t>(token)]];
  }
  [[nodiscard]] std::uint32_t after(Token value) const {
    const auto at = static_cast<std::uint32_t>(value);
    return (is_object(value) || is_array(value) ? closers_[at] : at) + 1;
  }
  [[nodiscard]] std::optional<JsonFault> check_grammar(std::uint32_t tokens);
  [[nodiscard]] JsonFault fault_at(std::string_view what, std::uint32_t token) const {
    return {what, offsets_[token]};
  }

  std::unique_ptr<Indexer> indexer_;
  const char* text_ = nullptr;
  const std::uint32_t* offsets_ = nullptr;    // of each token; one more for the end of the text
  std::unique_ptr<std::uint32_t[]> closers_;  // of each opening bracket: its closing token
  std::size_t closers_capacity_ = 0;
};

}  // namespace rolter::openai
