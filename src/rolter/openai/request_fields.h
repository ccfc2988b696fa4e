#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "rolter/base/error.h"
#include "rolter/openai/json_document.h"
#include "rolter/openai/json_members.h"

namespace rolter::openai {

/// The top-level members of a request body that the gateway looks at.
enum class Field : std::uint8_t {
  kModel,
  // How the answer comes and what it may cost.
  kStream,
  kStreamOptions,
  kMaxTokens,
  kMaxCompletionTokens,
  kMaxOutputTokens,
  kN,
  kSessionId,
  // The conversation.
  kMessages,
  kSystem,
  kInput,
  kInstructions,
  kPreviousResponseId,
  // Prompts without a chat template.
  kPrompt,
  kPromptEmbeds,
  kQuery,
  kQueries,
  kText1,
  kText2,
  kTexts,
  kInputs,
  kDocuments,
  kItems,
  // What else reaches the engine's prompt or its cache key.
  kCacheSalt,
  kTools,
  kChatTemplate,
  kChatTemplateKwargs,
  kReasoningEffort,
  kReasoning,
  kOutputConfig,
  kMmProcessorKwargs,
  kAddSpecialTokens,
  kTruncatePromptTokens,
  kCount,
};

using RequestFields = Members<Field>;

/// Reads all top-level members of a body that must be an object with one "model", a string that is
/// not empty. Errors are the client's and say what to send instead.
[[nodiscard]] Result<RequestFields> read_request_fields(const JsonDocument& document);

/// The error for a body that is not JSON.
[[nodiscard]] std::unexpected<Error> not_json(const JsonFault& fault);

/// The error for a client's mistake.
[[nodiscard]] std::unexpected<Error> bad_request(std::string message, std::string_view field = {});

}  // namespace rolter::openai
