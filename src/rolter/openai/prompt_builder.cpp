#include "rolter/openai/prompt_builder.h"

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "rolter/openai/conversation.h"
#include "rolter/openai/hash.h"
#include "rolter/openai/json_members.h"
#include "rolter/openai/key_table.h"
#include "rolter/openai/raw_prompt.h"

namespace rolter::openai {
namespace {

using Token = JsonDocument::Token;

/// Members that are not part of the conversation and yet change what the engine computes from its
/// first token on: they separate prompts. chat_template and what is fed to it, tools (rendered
/// ahead of the conversation), the salt, and how the prompt is cut or opened. Not among them, since
/// they do not reach the prompt or only its end: tool_choice, response_format,
/// add_generation_prompt, continue_final_message, sampling parameters.
constexpr auto kRootFields = std::to_array<Field>({
    Field::kCacheSalt, Field::kTools, Field::kChatTemplate, Field::kChatTemplateKwargs,
    Field::kMmProcessorKwargs, Field::kAddSpecialTokens, Field::kTruncatePromptTokens,
    Field::kPreviousResponseId,
    Field::kDocuments,  // of chat; elsewhere they are the prompt itself
});

/// The parts of a prompt without a chat template, in the order an engine joins them.
constexpr auto kRawPromptFields = std::to_array<Field>({
    Field::kPrompt,
    Field::kPromptEmbeds,
    Field::kQuery,
    Field::kQueries,
    Field::kText1,
    Field::kInput,
    Field::kTexts,
    Field::kInputs,
    Field::kText2,
    Field::kDocuments,
    Field::kItems,
});

enum class EffortKey : std::uint8_t { kEffort, kCount };

constexpr KeyTable kEffortKeys(std::to_array<std::pair<std::string_view, EffortKey>>({
    {"effort", EffortKey::kEffort},
}));

/// How hard a reasoning model shall think, which its template writes at the head of the prompt:
/// "reasoning_effort", or the "effort" of "reasoning" (/v1/responses) or "output_config"
/// (/v1/messages).
std::optional<Token> reasoning_effort(const JsonDocument& document, const RequestFields& fields) {
  for (const Field field : {Field::kReasoning, Field::kOutputConfig}) {
    const auto value = fields[field];
    if (value && document.is_object(*value)) {
      if (const auto effort = read_members(document, *value, kEffortKeys)[EffortKey::kEffort]) {
        return effort;
      }
    }
  }
  return fields[Field::kReasoningEffort];
}

bool is_empty_container(const JsonDocument& document, Token value) {
  bool empty = document.is_object(value) || document.is_array(value);
  if (document.is_object(value)) {
    document.for_each_member(value, [&empty](std::string_view, Token) { empty = false; });
  } else if (document.is_array(value)) {
    document.for_each_element(value, [&empty](Token) { empty = false; });
  }
  return empty;
}

/// /tokenize, /detokenize, count_tokens and audio neither use nor fill the KV cache.
bool has_prompt(Endpoint endpoint) {
  switch (endpoint) {
    case Endpoint::kChatCompletions:
    case Endpoint::kCompletions:
    case Endpoint::kResponses:
    case Endpoint::kMessages:
    case Endpoint::kEmbeddings:
    case Endpoint::kPooling:
    case Endpoint::kRerank:
    case Endpoint::kScore:
      return true;
    case Endpoint::kMessagesCountTokens:
    case Endpoint::kAudio:
    case Endpoint::kTokenize:
    case Endpoint::kDetokenize:
      return false;
  }
  return false;
}

}  // namespace

void PromptBuilder::clear(std::size_t kept_bytes) {
  text_.clear(kept_bytes);
  canonical_.trim();
  if (ids_.capacity() * sizeof(ids_[0]) > kept_bytes) {
    std::vector<std::uint32_t>().swap(ids_);
  }
  ids_.clear();
}

Prompt PromptBuilder::build(Endpoint endpoint, const JsonDocument& document,
                            const RequestFields& fields) {
  if (!has_prompt(endpoint)) {
    return {};
  }
  const Kind kind = write_text(endpoint, document, fields);
  return {.root = hash_root(kind, document, fields),
          .text = text_.view(),
          .has_media = text_.has_media(),
          .is_chat = kind == Kind::kChat,
          .is_list = kind == Kind::kText && text_.view().contains(PromptText::kItem)};
}

PromptBuilder::Kind PromptBuilder::write_text(Endpoint endpoint, const JsonDocument& document,
                                              const RequestFields& fields) {
  Conversation conversation(document, canonical_, text_);
  if (endpoint == Endpoint::kResponses) {
    if (const auto instructions = fields[Field::kInstructions]) {
      conversation.add_system(*instructions);
    }
    if (const auto input = fields[Field::kInput]) {
      conversation.add_responses_input(*input);
    }
    return Kind::kChat;
  }
  if (const auto messages = fields[Field::kMessages]) {
    const auto system = fields[Field::kSystem];
    if (system && endpoint == Endpoint::kMessages) {
      conversation.add_system(*system);
    }
    conversation.add_messages(*messages);
    return Kind::kChat;
  }
  RawPrompt prompt(document, canonical_, text_, ids_);
  for (const Field field : kRawPromptFields) {
    if (const auto part = fields[field]) {
      prompt.add(*part);
    }
  }
  return prompt.begins_with_ids() ? Kind::kTokenIds : Kind::kText;
}

std::uint64_t PromptBuilder::hash_root(Kind kind, const JsonDocument& document,
                                       const RequestFields& fields) {
  struct Separator {
    std::uint64_t field;
    std::uint64_t digest;
  };
  std::array<Separator, kRootFields.size() + 2> separators;
  std::size_t count = 0;
  const auto separate = [&](Field field, std::optional<Token> value) {
    if (!value || is_empty_container(document, *value)) {
      return;
    }
    bool good = true;
    separators[count++] = {static_cast<std::uint64_t>(field),
                           canonical_.digest(document, *value, good)};
    if (!good) {
      text_.note_bad_escape();
    }
  };
  separators[count++] = {static_cast<std::uint64_t>(kind), text_.first_role()};
  separate(Field::kReasoningEffort, reasoning_effort(document, fields));
  for (const Field field : kRootFields) {
    if (field != Field::kDocuments || kind == Kind::kChat) {
      separate(field, fields[field]);
    }
  }
  return hash_bytes({reinterpret_cast<const char*>(separators.data()), count * sizeof(Separator)});
}

}  // namespace rolter::openai
