#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "rolter/openai/error_body.h"

namespace rolter::openai {

/// A JSON value that can be printed in many ways.
struct JsonValue {
  enum class Kind : std::uint8_t { kLiteral, kString, kArray, kObject };

  Kind kind = Kind::kLiteral;
  std::string text = "null";  // of a literal or number; of a string, unescaped
  std::vector<JsonValue> elements = {};
  std::vector<std::pair<std::string, JsonValue>> members = {};

  static JsonValue literal(std::string text) { return {.text = std::move(text)}; }
  static JsonValue string(std::string text) {
    return {.kind = Kind::kString, .text = std::move(text)};
  }
  static JsonValue array(std::vector<JsonValue> elements) {
    return {.kind = Kind::kArray, .text = {}, .elements = std::move(elements)};
  }
  static JsonValue object(std::vector<std::pair<std::string, JsonValue>> members) {
    return {.kind = Kind::kObject, .text = {}, .elements = {}, .members = std::move(members)};
  }
};

/// Prints a value with random spaces, random escapes and members in random order.
class RandomPrinter {
 public:
  explicit RandomPrinter(std::uint32_t seed) : random_(seed) {}

  std::string print(const JsonValue& value) {
    std::string out;
    write(out, value);
    return out;
  }

 private:
  bool chance(int percent) { return std::uniform_int_distribution<int>(0, 99)(random_) < percent; }

  void space(std::string& out) {
    while (chance(20)) {
      out += " \t\r\n"[std::uniform_int_distribution<int>(0, 3)(random_)];
    }
  }

  void write(std::string& out, const JsonValue& value) {
    space(out);
    switch (value.kind) {
      case JsonValue::Kind::kLiteral:
        out += value.text;
        break;
      case JsonValue::Kind::kString:
        write_string(out, value.text);
        break;
      case JsonValue::Kind::kArray:
        write_list(out, '[', ']', value.elements,
                   [&](const JsonValue& element) { write(out, element); });
        break;
      case JsonValue::Kind::kObject: {
        auto members = value.members;
        std::shuffle(members.begin(), members.end(), random_);
        write_list(out, '{', '}', members, [&](const auto& member) {
          space(out);
          write_string(out, member.first);
          space(out);
          out += ':';
          write(out, member.second);
        });
        break;
      }
    }
    space(out);
  }

  template <typename List, typename Write>
  void write_list(std::string& out, char open, char close, const List& list, Write write_one) {
    out += open;
    space(out);
    for (std::size_t i = 0; i < list.size(); ++i) {
      out += i == 0 ? "" : ",";
      write_one(list[i]);
    }
    out += close;
  }

  void write_string(std::string& out, const std::string& text) {
    if (chance(50)) {
      append_json_string(out, text);
      return;
    }
    out += '"';
    for (std::size_t at = 0; at < text.size();) {
      at = write_character(out, text, at);
    }
    out += '"';
  }

  /// Returns where the next character begins.
  std::size_t write_character(std::string& out, const std::string& text, std::size_t at) {
    const auto lead = static_cast<unsigned char>(text[at]);
    const std::size_t size = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    std::uint32_t code_point = size == 1 ? lead : lead & (0x7FU >> size);
    for (std::size_t i = 1; i < size; ++i) {
      code_point = code_point << 6 | (static_cast<unsigned char>(text[at + i]) & 0x3FU);
    }
    if (code_point == '/' && chance(50)) {
      out += "\\/";
    } else if (code_point < 0x20 || code_point == '"' || code_point == '\\' || chance(30)) {
      if (code_point >= 0x10000) {
        write_unit(out, 0xD800 + ((code_point - 0x10000) >> 10));
        write_unit(out, 0xDC00 + ((code_point - 0x10000) & 0x3FF));
      } else {
        write_unit(out, code_point);
      }
    } else {
      out.append(text, at, size);
    }
    return at + size;
  }

  void write_unit(std::string& out, std::uint32_t unit) {
    const char* const digits = chance(50) ? "0123456789abcdef" : "0123456789ABCDEF";
    out += "\\u";
    for (int shift = 12; shift >= 0; shift -= 4) {
      out += digits[unit >> shift & 0xF];
    }
  }

  std::mt19937 random_;
};

}  // namespace rolter::openai
