#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "rolter/base/ids.h"

namespace rolter::openai {

/// Writes one JSON value, compact, in the order of the calls. An empty key means an element of an
/// array or the value itself. Keys are written as they are.
class JsonWriter {
 public:
  JsonWriter& object(std::string_view key = {});
  JsonWriter& array(std::string_view key = {});
  JsonWriter& end();  // of the innermost object or array

  JsonWriter& text(std::string_view key, std::string_view value);
  JsonWriter& number(std::string_view key, std::uint64_t value);
  JsonWriter& decimal(std::string_view key, double value);
  JsonWriter& flag(std::string_view key, bool value);
  JsonWriter& null(std::string_view key);
  JsonWriter& raw(std::string_view key, std::string_view json);  // already JSON
  JsonWriter& tokens(std::string_view key, std::span<const TokenId> ids);

  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  void begin(std::string_view key);

  std::string out_;
  std::string open_;  // the closing brackets that are due, innermost last
  bool first_ = true;
};

}  // namespace rolter::openai
