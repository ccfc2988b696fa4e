#include <array>
#include <charconv>
#include <string>
#include <vector>

#include "rolter/openai/canonical.h"
#include "rolter/openai/conversation.h"
#include "rolter/openai/hash.h"
#include "rolter/openai/json_document.h"
#include "rolter/openai/json_members.h"
#include "rolter/openai/json_string.h"
#include "rolter/openai/key_table.h"
#include "rolter/openai/prompt_text.h"
#include "rolter/openai/raw_prompt.h"
#include "rolter/openai/request_fields.h"
#include "rolter/openai/request_view.h"

namespace rolter::openai {
namespace {

using Token = JsonDocument::Token;

constexpr std::size_t kKeptBytes = JsonDocument::kKeptBytes;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// What kind of rendering a prompt goes through: equal text of different kinds shares no blocks.
enum class PromptKind : std::uint8_t { kChat, kText, kTokenIds };

/// Members that are not part of the conversation and yet change what the engine computes from its
/// first token on: they separate prompts. chat_template and what is fed to it, tools (rendered
/// ahead of the conversation), the salt, and how the prompt is cut or opened. Not among them, since
/// they do not reach the prompt or only its end: tool_choice, response_format,
/// add_generation_prompt, continue_final_message, sampling parameters.
constexpr auto kRootFields = std::to_array<Field>({
    Field::kCacheSalt, Field::kTools, Field::kChatTemplate, Field::kChatTemplateKwargs,
    Field::kReasoningEffort, Field::kReasoning, Field::kMmProcessorKwargs, Field::kAddSpecialTokens,
    Field::kTruncatePromptTokens, Field::kPreviousResponseId,
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

enum class StreamOption : std::uint8_t { kIncludeUsage, kCount };

constexpr KeyTable kStreamOptions(std::to_array<std::pair<std::string_view, StreamOption>>({
    {"include_usage", StreamOption::kIncludeUsage},
}));

/// As pydantic, which reads the body in the engine, has it in its lax mode.
bool is_true(const JsonDocument& document, std::optional<Token> value) {
  if (!value) {
    return false;
  }
  const std::string_view text = document.scalar(*value);
  return text == "true" || text == "1" || text == "1.0" || text == R"("true")" || text == R"("1")";
}

/// 0 when absent or not a whole number >= 0.
template <typename Number>
Number whole_number(const JsonDocument& document, std::optional<Token> value) {
  Number number = 0;
  if (value && document.is_number(*value)) {
    const std::string_view digits = document.scalar(*value);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc{} || end != digits.data() + digits.size()) {
      return 0;
    }
  }
  return number;
}

bool is_empty_container(const JsonDocument& document, Token value) {
  bool empty = true;
  if (document.is_object(value)) {
    document.for_each_member(value, [&empty](std::string_view, Token) { empty = false; });
  } else if (document.is_array(value)) {
    document.for_each_element(value, [&empty](Token) { empty = false; });
  } else {
    empty = false;
  }
  return empty;
}

}  // namespace

struct RequestParser::Impl {
  JsonDocument document;
  Canonical canonical;
  PromptText text;
  std::vector<std::uint32_t> ids;
  // Unescaped strings, when they hold an escape.
  std::string model;
  std::string session_id;
  std::string previous_response_id;

  void reset();
  Result<RequestView> parse_json(Endpoint endpoint, std::string_view body);
  void read_options(const RequestFields& fields, RequestView& view);
  Prompt read_prompt(Endpoint endpoint, const RequestFields& fields);
  PromptKind write_prompt(Endpoint endpoint, const RequestFields& fields);
  std::uint64_t read_root(const RequestFields& fields, PromptKind kind);
  std::string_view plain(std::optional<Token> value, std::string& scratch);
};

void RequestParser::Impl::reset() {
  text.clear(kKeptBytes);
  canonical.trim();
  if (ids.capacity() * sizeof(ids[0]) > kKeptBytes) {
    std::vector<std::uint32_t>().swap(ids);
  }
  ids.clear();
  for (std::string* scratch : {&model, &session_id, &previous_response_id}) {
    if (scratch->capacity() > kKeptBytes) {
      std::string().swap(*scratch);
    }
  }
}

/// The string's value, "" when it is absent or of another type.
std::string_view RequestParser::Impl::plain(std::optional<Token> value, std::string& scratch) {
  if (!value || !document.is_string(*value)) {
    return {};
  }
  const std::string_view escaped = document.escaped(*value);
  if (!has_escape(escaped)) {
    return escaped;
  }
  scratch.clear();
  if (!append_unescaped(scratch, escaped)) {
    text.note_bad_escape();
  }
  return scratch;
}

Result<RequestView> RequestParser::Impl::parse_json(Endpoint endpoint, std::string_view body) {
  const bool marked = body.starts_with(kByteOrderMark);  // the engine's parser accepts it too
  const auto fault = document.read(marked ? body.substr(kByteOrderMark.size()) : body);
  if (fault) {
    return not_json(*fault);
  }
  const auto fields = read_request_fields(document);
  if (!fields) {
    return std::unexpected(fields.error());
  }
  RequestView view;
  const Token model_token = *(*fields)[Field::kModel];
  const std::string_view quoted = document.scalar(model_token);
  view.model = plain(model_token, model);
  view.model_token = {static_cast<std::size_t>(quoted.data() - body.data()), quoted.size()};
  read_options(*fields, view);
  view.prompt = read_prompt(endpoint, *fields);
  view.prompt.root ^= root_of_model(view.model);
  view.prompt_token_ids = ids;
  document.trim();
  if (!text.good()) {
    return bad_request(
        "the request body is not JSON: a string holds an unknown escape sequence; write a "
        "backslash "
        "as \\\\");
  }
  return view;
}

void RequestParser::Impl::read_options(const RequestFields& fields, RequestView& view) {
  view.stream = is_true(document, fields[Field::kStream]);
  const auto options = fields[Field::kStreamOptions];
  if (options && document.is_object(*options)) {
    view.include_usage = is_true(
        document, read_members(document, *options, kStreamOptions)[StreamOption::kIncludeUsage]);
  }
  for (const Field field :
       {Field::kMaxCompletionTokens, Field::kMaxOutputTokens, Field::kMaxTokens}) {
    if (view.max_output_tokens == 0) {
      view.max_output_tokens = whole_number<std::uint64_t>(document, fields[field]);
    }
  }
  const auto choices = whole_number<std::uint32_t>(document, fields[Field::kN]);
  view.choices = choices == 0 ? 1 : choices;
  view.session_id = plain(fields[Field::kSessionId], session_id);
  view.previous_response_id = plain(fields[Field::kPreviousResponseId], previous_response_id);
}

Prompt RequestParser::Impl::read_prompt(Endpoint endpoint, const RequestFields& fields) {
  switch (endpoint) {
    case Endpoint::kMessagesCountTokens:
    case Endpoint::kTokenize:
    case Endpoint::kDetokenize:
    case Endpoint::kAudio:
      return {};  // these neither use nor fill the KV cache
    default:
      break;
  }
  const PromptKind kind = write_prompt(endpoint, fields);
  return {.root = read_root(fields, kind), .text = text.view()};
}

PromptKind RequestParser::Impl::write_prompt(Endpoint endpoint, const RequestFields& fields) {
  Conversation conversation(document, canonical, text);
  if (endpoint == Endpoint::kResponses) {
    if (const auto instructions = fields[Field::kInstructions]) {
      conversation.add_system(*instructions);
    }
    if (const auto input = fields[Field::kInput]) {
      conversation.add_responses_input(*input);
    }
    return PromptKind::kChat;
  }
  if (const auto messages = fields[Field::kMessages]) {
    const auto system = fields[Field::kSystem];
    if (system && endpoint == Endpoint::kMessages) {
      conversation.add_system(*system);
    }
    conversation.add_messages(*messages);
    return PromptKind::kChat;
  }
  RawPrompt prompt(document, canonical, text, ids);
  for (const Field field : kRawPromptFields) {
    if (const auto part = fields[field]) {
      prompt.add(*part);
    }
  }
  return prompt.begins_with_ids() ? PromptKind::kTokenIds : PromptKind::kText;
}

std::uint64_t RequestParser::Impl::read_root(const RequestFields& fields, PromptKind kind) {
  struct Separator {
    std::uint64_t field;
    std::uint64_t digest;
  };
  std::array<Separator, kRootFields.size() + 1> separators;
  std::size_t count = 0;
  separators[count++] = {static_cast<std::uint64_t>(kind), text.first_role()};
  for (const Field field : kRootFields) {
    const auto value = fields[field];
    const bool separates = field != Field::kDocuments || kind == PromptKind::kChat;
    if (value && separates && !is_empty_container(document, *value)) {
      bool good = true;
      separators[count++] = {static_cast<std::uint64_t>(field),
                             canonical.digest(document, *value, good)};
      if (!good) {
        text.note_bad_escape();
      }
    }
  }
  return hash_bytes({reinterpret_cast<const char*>(separators.data()), count * sizeof(Separator)});
}

std::uint64_t root_of_model(std::string_view model) {
  return hash_bytes(model, 1);
}

RequestParser::RequestParser() : impl_(std::make_unique<Impl>()) {}
RequestParser::~RequestParser() = default;

Result<RequestView> RequestParser::parse(Endpoint endpoint, std::string_view content_type,
                                         std::string_view body) {
  impl_->reset();
  (void)content_type;
  return impl_->parse_json(endpoint, body);
}

}  // namespace rolter::openai
