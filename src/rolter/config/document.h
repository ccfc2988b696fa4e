#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "rolter/base/time.h"
#include "rolter/config/load.h"

namespace rolter::config {

/// Where something stands in the file, from 1. Line 0 = the file as a whole.
struct Position {
  std::size_t line = 0;
  std::size_t column = 0;
  auto operator<=>(const Position&) const = default;
};

struct Value;
struct Entry;
using Array = std::vector<Value>;
using Table = std::vector<Entry>;  // in the order of the file

/// A TOML date-time; without an offset it names no instant.
struct DateTime {
  WallTime instant;
  bool has_offset = false;
};

/// A TOML value and its place: what the typed reading works on, so that the TOML library's headers
/// stay in document.cpp.
struct Value {
  std::variant<Table, Array, std::string, std::int64_t, double, bool, DateTime> data;
  Position at;
};

struct Entry {
  std::string key;
  Position at;
  Value value;
};

/// The value under `key`; nullptr when there is none.
[[nodiscard]] const Entry* find_entry(const Table& table, std::string_view key);

/// The document's root table, or the one fault at which parsing had to stop.
[[nodiscard]] std::expected<Value, Finding> parse_document(std::string_view text);

/// An RFC 3339 date-time as TOML writes it; nullopt for anything else.
[[nodiscard]] std::optional<DateTime> parse_date_time(std::string_view text);

/// The place of `path` ("routes[2].fallback") in the document, or of its innermost part that
/// exists.
[[nodiscard]] Position locate(const Value& root, std::string_view path);

}  // namespace rolter::config
