#include "rolter/openai/json_document.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace rolter::openai {
namespace {

constexpr std::size_t kSmallestCapacity = 4096;

std::string_view describe(simdjson::error_code error) {
  switch (error) {
    case simdjson::UTF8_ERROR:
      return "it is not valid UTF-8";
    case simdjson::UNCLOSED_STRING:
      return "a string is not closed";
    case simdjson::UNESCAPED_CHARS:
      return "a string holds an unescaped control character";
    case simdjson::EMPTY:
      return "it is empty";
    default:
      return "it cannot be read";
  }
}

std::size_t count_digits(std::string_view text, std::size_t from) {
  std::size_t at = from;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
    ++at;
  }
  return at - from;
}

bool is_json_number(std::string_view text) {
  std::size_t at = text.starts_with('-') ? 1 : 0;
  const std::size_t whole = count_digits(text, at);
  if (whole == 0 || (whole > 1 && text[at] == '0')) {
    return false;
  }
  at += whole;
  if (at < text.size() && text[at] == '.') {
    const std::size_t fraction = count_digits(text, at + 1);
    if (fraction == 0) {
      return false;
    }
    at += 1 + fraction;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    at += at < text.size() && (text[at] == '+' || text[at] == '-') ? 1 : 0;
    const std::size_t exponent = count_digits(text, at);
    if (exponent == 0) {
      return false;
    }
    at += exponent;
  }
  return at == text.size();
}

bool is_literal(std::string_view text) {
  return text == "true" || text == "false" || text == "null" || text == "NaN" ||
         text == "Infinity" || text == "-Infinity";
}

}  // namespace

struct JsonDocument::Indexer {
  std::unique_ptr<simdjson::internal::dom_parser_implementation> stage;
};

JsonDocument::JsonDocument() : indexer_(std::make_unique<Indexer>()) {}
JsonDocument::~JsonDocument() = default;

std::optional<JsonFault> JsonDocument::read(std::string_view text) {
  if (text.empty()) {
    return JsonFault{"it is empty", std::nullopt};
  }
  auto& stage = indexer_->stage;
  if (stage == nullptr || stage->capacity() < text.size()) {
    const std::size_t capacity = std::bit_ceil(std::max(text.size(), kSmallestCapacity));
    stage.reset();
    // The second stage, which would need a depth, is never run.
    const auto error = simdjson::get_active_implementation()->create_dom_parser_implementation(
        capacity, /*max_depth=*/1, stage);
    if (error != simdjson::SUCCESS) {
      stage.reset();
      return JsonFault{"it is too large to be read", std::nullopt};
    }
  }
  const auto error = stage->stage1(reinterpret_cast<const std::uint8_t*>(text.data()), text.size(),
                                   simdjson::stage1_mode::regular);
  if (error != simdjson::SUCCESS) {
    return JsonFault{describe(error), std::nullopt};
  }
  text_ = text.data();
  offsets_ = stage->structural_indexes.get();
  const std::uint32_t tokens = stage->n_structural_indexes;
  if (closers_capacity_ < tokens) {
    closers_capacity_ = std::bit_ceil(std::max<std::size_t>(tokens, kSmallestCapacity));
    closers_ = std::make_unique_for_overwrite<std::uint32_t[]>(closers_capacity_);
  }
  return check_grammar(tokens);
}

void JsonDocument::trim() {
  if (indexer_->stage != nullptr &&
      indexer_->stage->capacity() > kKeptBytes / sizeof(std::uint32_t)) {
    indexer_->stage.reset();
  }
  if (closers_capacity_ > kKeptBytes / sizeof(std::uint32_t)) {
    closers_.reset();
    closers_capacity_ = 0;
  }
}

std::optional<JsonFault> JsonDocument::check_grammar(std::uint32_t tokens) {
  struct Open {
    std::uint32_t token;
    char closer;
  };
  std::array<Open, kMaxDepth> open;
  std::size_t depth = 0;
  std::uint32_t at = 0;
  const auto is = [&](std::uint32_t token, char c) {
    return token < tokens && first_char(Token{token}) == c;
  };
  // A key and its colon, after '{' or ',' of an object.
  const auto skip_key = [&] {
    const bool good = is(at, '"') && is(at + 1, ':');
    at += 2;
    return good;
  };
  const JsonFault truncated{"it ends before it is complete", std::nullopt};
  while (at < tokens) {
    // A value begins here.
    const char c = first_char(Token{at});
    if (c == '{' || c == '[') {
      if (depth == kMaxDepth) {
        return fault_at("it is nested deeper than 1024 levels", at);
      }
      open[depth++] = {at++, c == '{' ? '}' : ']'};
      if (!is(at, open[depth - 1].closer)) {
        if (c == '{' && !skip_key()) {
          return at - 1 < tokens ? fault_at("a key and a colon are expected", at - 2) : truncated;
        }
        continue;
      }
    } else {
      if (c != '"' && !is_json_number(scalar(Token{at})) && !is_literal(scalar(Token{at}))) {
        return fault_at("a value is expected", at);
      }
      ++at;
    }
    // A value has ended: so may its containers.
    while (depth > 0 && is(at, open[depth - 1].closer)) {
      closers_[open[--depth].token] = at++;
    }
    if (depth == 0) {
      return at == tokens ? std::nullopt : std::optional(fault_at("something follows its end", at));
    }
    if (!is(at, ',')) {
      return at < tokens ? fault_at("a comma or a closing bracket is expected", at) : truncated;
    }
    ++at;
    if (open[depth - 1].closer == '}' && !skip_key()) {
      return at - 1 < tokens ? fault_at("a key and a colon are expected", at - 2) : truncated;
    }
  }
  return truncated;
}

}  // namespace rolter::openai
