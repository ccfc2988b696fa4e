#include "rolter/openai/json_writer.h"

#include <fmt/format.h>

#include <iterator>

#include "rolter/openai/error_body.h"

namespace rolter::openai {

void JsonWriter::begin(std::string_view key) {
  if (!first_) {
    out_.push_back(',');
  }
  first_ = false;
  if (!key.empty()) {
    fmt::format_to(std::back_inserter(out_), "\"{}\":", key);
  }
}

JsonWriter& JsonWriter::object(std::string_view key) {
  begin(key);
  out_.push_back('{');
  open_.push_back('}');
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::array(std::string_view key) {
  begin(key);
  out_.push_back('[');
  open_.push_back(']');
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::end() {
  out_.push_back(open_.back());
  open_.pop_back();
  first_ = false;
  return *this;
}

JsonWriter& JsonWriter::text(std::string_view key, std::string_view value) {
  begin(key);
  append_json_string(out_, value);
  return *this;
}

JsonWriter& JsonWriter::number(std::string_view key, std::uint64_t value) {
  begin(key);
  fmt::format_to(std::back_inserter(out_), "{}", value);
  return *this;
}

JsonWriter& JsonWriter::decimal(std::string_view key, double value) {
  begin(key);
  fmt::format_to(std::back_inserter(out_), "{}", value);
  return *this;
}

JsonWriter& JsonWriter::flag(std::string_view key, bool value) {
  return raw(key, value ? "true" : "false");
}

JsonWriter& JsonWriter::null(std::string_view key) {
  return raw(key, "null");
}

JsonWriter& JsonWriter::raw(std::string_view key, std::string_view json) {
  begin(key);
  out_.append(json);
  return *this;
}

JsonWriter& JsonWriter::tokens(std::string_view key, std::span<const TokenId> ids) {
  array(key);
  for (const TokenId id : ids) {
    number({}, id);
  }
  return end();
}

}  // namespace rolter::openai
