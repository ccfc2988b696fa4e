#include "rolter/simulator/token_prompt.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <absl/strings/str_join.h>

#include <utility>

#include "rolter/simulator/tokenizer.h"

namespace rolter::simulator {
namespace {

namespace dom = simdjson::dom;
using Prompt = GenerationRequest::Prompt;

Prompt text_prompt(std::string_view text) {
  return {tokenize(text), std::string(text)};
}

ApiFault no_prompt() {
  return {400, "BadRequestError", "You must pass at least one prompt", ""};
}

Parsed<Prompt> ids_prompt(const dom::array& ids) {
  Prompt prompt;
  for (const dom::element id : ids) {
    std::uint64_t value = 0;
    if (id.get(value) != simdjson::SUCCESS) {
      return std::unexpected(invalid_field("prompt", "token ids must be integers"));
    }
    if (value >= kVocabularySize) {
      return std::unexpected(ApiFault{400, "BadRequestError",
                                      fmt::format("Token id {} is out of vocabulary", value), ""});
    }
    prompt.tokens.push_back(static_cast<TokenId>(value));
  }
  if (prompt.tokens.empty()) {
    return std::unexpected(no_prompt());
  }
  prompt.echo = absl::StrJoin(prompt.tokens, ",");
  return prompt;
}

/// A string or a list of token ids.
Parsed<Prompt> one_prompt(const dom::element& value) {
  std::string_view text;
  dom::array ids;
  if (value.get(text) == simdjson::SUCCESS) {
    Prompt prompt = text_prompt(text);
    if (prompt.tokens.empty()) {
      return std::unexpected(no_prompt());
    }
    return prompt;
  }
  if (value.get(ids) == simdjson::SUCCESS) {
    return ids_prompt(ids);
  }
  return std::unexpected(
      invalid_field("prompt", "must be a string, token ids, or a list of these"));
}

bool is_list_of_prompts(const dom::array& array) {
  return array.size() > 0 && !(*array.begin()).is_number();
}

}  // namespace

Parsed<std::vector<Prompt>> read_prompts(const JsonValue& body, std::string_view key) {
  dom::element value;
  if (body.at_key(key).get(value) != simdjson::SUCCESS || value.is_null()) {
    return std::unexpected(missing_field(key));
  }
  std::vector<dom::element> values;
  dom::array array;
  if (value.get(array) == simdjson::SUCCESS && is_list_of_prompts(array)) {
    values.assign(array.begin(), array.end());
  } else {
    values.push_back(value);
  }
  std::vector<Prompt> prompts;
  for (const dom::element& one : values) {
    Parsed<Prompt> prompt = one_prompt(one);
    if (!prompt) {
      return std::unexpected(std::move(prompt.error()));
    }
    prompts.push_back(std::move(*prompt));
  }
  return prompts;
}

}  // namespace rolter::simulator
