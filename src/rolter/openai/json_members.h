#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "rolter/openai/json_document.h"
#include "rolter/openai/json_string.h"

namespace rolter::openai {

/// Looks `escaped` up in a KeyTable as it reads, however it is spelled in JSON.
template <typename Table>
[[nodiscard]] auto find_escaped(const Table& table, std::string_view escaped) {
  auto found = table.find(escaped);
  if (!found && has_escape(escaped)) {
    std::string plain;
    if (append_unescaped(plain, escaped)) {
      found = table.find(plain);
    }
  }
  return found;
}

/// The known members of one object. `Key` is an enum that ends with kCount. A null member and an
/// absent one are the same; of two equal keys the later wins, as in the engine's own parser.
template <typename Key>
class Members {
 public:
  [[nodiscard]] std::optional<JsonDocument::Token> operator[](Key key) const {
    const std::uint32_t token = tokens_[static_cast<std::size_t>(key)];
    return token == 0 ? std::nullopt : std::optional(JsonDocument::Token{token});
  }

  void set(Key key, JsonDocument::Token value) {
    tokens_[static_cast<std::size_t>(key)] = static_cast<std::uint32_t>(value);
  }

 private:
  /// 0 = absent: the first token of a text is never the value of a member.
  std::array<std::uint32_t, static_cast<std::size_t>(Key::kCount)> tokens_{};
};

/// The members of `object` whose keys are in `table`.
template <typename Table>
[[nodiscard]] auto read_members(const JsonDocument& document, JsonDocument::Token object,
                                const Table& table) {
  Members<typename Table::value_type> members;
  document.for_each_member(object, [&](std::string_view key, JsonDocument::Token value) {
    const auto known = find_escaped(table, key);
    if (known && !document.is_null(value)) {
      members.set(*known, value);
    }
  });
  return members;
}

}  // namespace rolter::openai
