#include "rolter/telemetry/log_escape.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace rolter::telemetry {
namespace {

/// One character of a text that may be anything.
struct Character {
  std::size_t bytes = 1;
  std::uint32_t code = 0;
  bool valid = false;
};

std::uint32_t byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

/// Strict UTF-8: no overlong forms, no surrogates, nothing past U+10FFFF.
Character decode(std::string_view text) {
  struct Form {
    std::uint32_t mask, lead, least;
    std::size_t bytes;
  };
  static constexpr std::array<Form, 4> kForms{{{0x80, 0x00, 0x0, 1},
                                               {0xE0, 0xC0, 0x80, 2},
                                               {0xF0, 0xE0, 0x800, 3},
                                               {0xF8, 0xF0, 0x10000, 4}}};
  const std::uint32_t first = byte_at(text, 0);
  for (const Form& form : kForms) {
    if ((first & form.mask) != form.lead) {
      continue;
    }
    if (text.size() < form.bytes) {
      return {};
    }
    std::uint32_t code = first & ~form.mask;
    for (std::size_t i = 1; i < form.bytes; ++i) {
      const std::uint32_t next = byte_at(text, i);
      if ((next & 0xC0U) != 0x80U) {
        return {};
      }
      code = code << 6U | (next & 0x3FU);
    }
    const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    if (code < form.least || surrogate || code > 0x10FFFF) {
      return {};
    }
    return {.bytes = form.bytes, .code = code, .valid = true};
  }
  return {};
}

bool is_plain(char c) {
  return c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
}

bool needs_escape(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code <= 0x9F) || code == 0x2028 || code == 0x2029;
}

void append_escape(std::string& out, std::uint32_t code) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += "\\u";
  for (const unsigned shift : {12U, 8U, 4U, 0U}) {
    out += kHex[code >> shift & 0xFU];
  }
}

void append_character(std::string& out, std::string_view rest, const Character& character) {
  if (!character.valid) {
    out += "\\ufffd";
  } else if (character.code == '"' || character.code == '\\') {
    out += '\\';
    out += static_cast<char>(character.code);
  } else if (character.code == '\n') {
    out += "\\n";
  } else if (character.code == '\r') {
    out += "\\r";
  } else if (character.code == '\t') {
    out += "\\t";
  } else if (needs_escape(character.code)) {
    append_escape(out, character.code);
  } else {
    out += rest.substr(0, character.bytes);
  }
}

}  // namespace

void append_json_string(std::string& out, std::string_view text, std::size_t most_bytes) {
  const bool cut = text.size() > most_bytes;
  std::string_view rest = text.substr(0, most_bytes);
  out += '"';
  while (!rest.empty()) {
    const auto plain =
        static_cast<std::size_t>(std::ranges::find_if_not(rest, is_plain) - rest.begin());
    out += rest.substr(0, plain);
    rest.remove_prefix(plain);
    if (!rest.empty()) {
      const Character character = decode(rest);
      append_character(out, rest, character);
      rest.remove_prefix(character.bytes);
    }
  }
  out += cut ? "...\"" : "\"";
}

void append_text_value(std::string& out, std::string_view text, std::size_t most_bytes) {
  const bool one_word =
      !text.empty() && text.size() <= most_bytes &&
      std::ranges::all_of(text, [](char c) { return is_plain(c) && c != ' ' && c != '='; });
  if (one_word) {
    out += text;
  } else {
    append_json_string(out, text, most_bytes);
  }
}

}  // namespace rolter::telemetry
