#include "rolter/openai/request_fields.h"

#include <array>
#include <string>
#include <utility>

#include "rolter/openai/key_table.h"

namespace rolter::openai {
namespace {

using Token = JsonDocument::Token;

constexpr KeyTable kFields(std::to_array<std::pair<std::string_view, Field>>({
    {"model", Field::kModel},
    {"stream", Field::kStream},
    {"stream_options", Field::kStreamOptions},
    {"max_tokens", Field::kMaxTokens},
    {"max_completion_tokens", Field::kMaxCompletionTokens},
    {"max_output_tokens", Field::kMaxOutputTokens},
    {"n", Field::kN},
    {"session_id", Field::kSessionId},
    {"messages", Field::kMessages},
    {"system", Field::kSystem},
    {"input", Field::kInput},
    {"instructions", Field::kInstructions},
    {"previous_response_id", Field::kPreviousResponseId},
    {"prompt", Field::kPrompt},
    {"prompt_embeds", Field::kPromptEmbeds},
    {"query", Field::kQuery},
    {"queries", Field::kQueries},
    {"text_1", Field::kText1},
    {"text_2", Field::kText2},
    {"texts", Field::kTexts},
    {"inputs", Field::kInputs},
    {"documents", Field::kDocuments},
    {"items", Field::kItems},
    {"cache_salt", Field::kCacheSalt},
    {"tools", Field::kTools},
    {"chat_template", Field::kChatTemplate},
    {"chat_template_kwargs", Field::kChatTemplateKwargs},
    {"reasoning_effort", Field::kReasoningEffort},
    {"reasoning", Field::kReasoning},
    {"output_config", Field::kOutputConfig},
    {"mm_processor_kwargs", Field::kMmProcessorKwargs},
    {"add_special_tokens", Field::kAddSpecialTokens},
    {"truncate_prompt_tokens", Field::kTruncatePromptTokens},
}));

std::string_view name_of_kind(const JsonDocument& document, Token token) {
  if (document.is_object(token)) {
    return "an object";
  }
  if (document.is_array(token)) {
    return "an array";
  }
  if (document.is_string(token)) {
    return "a string";
  }
  if (document.is_null(token)) {
    return "null";
  }
  return document.is_number(token) ? "a number" : "a literal";
}

}  // namespace

std::unexpected<Error> bad_request(std::string message, std::string_view field) {
  return std::unexpected(
      Error{ErrorKind::kInvalidInput, ErrorSource::kClient, Retry::kNo, std::move(message), field});
}

std::unexpected<Error> not_json(const JsonFault& fault) {
  std::string message = "the request body is not a JSON object: ";
  message += fault.what;
  if (fault.offset) {
    message += " at byte " + std::to_string(*fault.offset);
  }
  message += "; send one JSON object with a \"model\"";
  return bad_request(std::move(message));
}

Result<RequestFields> read_request_fields(const JsonDocument& document) {
  if (!document.is_object(document.root())) {
    return bad_request("the request body must be a JSON object, not " +
                       std::string(name_of_kind(document, document.root())) +
                       "; send {\"model\": \"...\", ...}");
  }
  RequestFields fields;
  std::optional<Token> model;
  bool two_models = false;
  document.for_each_member(document.root(), [&](std::string_view key, Token value) {
    const auto field = find_escaped(kFields, key);
    if (!field) {
      return;
    }
    if (*field == Field::kModel) {
      two_models = two_models || model.has_value();
      model = value;
    }
    if (!document.is_null(value)) {
      fields.set(*field, value);
    }
  });
  if (two_models) {
    return bad_request("\"model\" is given twice; send it once", "model");
  }
  if (!model) {
    return bad_request("\"model\" is missing; name the model that shall answer, as a string",
                       "model");
  }
  if (!document.is_string(*model)) {
    return bad_request(
        "\"model\" must be a string, not " + std::string(name_of_kind(document, *model)), "model");
  }
  if (document.escaped(*model).empty()) {
    return bad_request("\"model\" is empty; name the model that shall answer", "model");
  }
  return fields;
}

}  // namespace rolter::openai
