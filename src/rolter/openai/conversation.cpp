#include "rolter/openai/conversation.h"

#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "rolter/openai/json_members.h"
#include "rolter/openai/json_string.h"
#include "rolter/openai/key_table.h"

namespace rolter::openai {
namespace {

using Token = JsonDocument::Token;

/// Members of a message, a tool call or an item of /v1/responses.
enum class MessageKey : std::uint8_t {
  kRole,
  kContent,
  kReasoning,
  kRefusal,
  kToolCalls,
  kFunction,
  kName,
  kArguments,
  kType,
  kOutput,
  kCount,
};

constexpr KeyTable kMessageKeys(std::to_array<std::pair<std::string_view, MessageKey>>({
    {"role", MessageKey::kRole},
    {"content", MessageKey::kContent},
    {"reasoning", MessageKey::kReasoning},
    {"reasoning_content", MessageKey::kReasoning},
    {"refusal", MessageKey::kRefusal},
    {"tool_calls", MessageKey::kToolCalls},
    {"function", MessageKey::kFunction},
    {"function_call", MessageKey::kFunction},
    {"name", MessageKey::kName},
    {"arguments", MessageKey::kArguments},
    {"input", MessageKey::kArguments},
    {"type", MessageKey::kType},
    {"output", MessageKey::kOutput},
}));

/// Members of a content part (OpenAI) or block (Anthropic).
enum class PartKey : std::uint8_t { kType, kText, kName, kInput, kContent, kCount };

constexpr KeyTable kPartKeys(std::to_array<std::pair<std::string_view, PartKey>>({
    {"type", PartKey::kType},
    {"text", PartKey::kText},
    {"refusal", PartKey::kText},
    {"thinking", PartKey::kText},
    {"name", PartKey::kName},
    {"input", PartKey::kInput},
    {"content", PartKey::kContent},
}));

enum class PartKind : std::uint8_t { kText, kToolUse, kToolResult, kUnseen, kMedium };

constexpr KeyTable kPartKinds(std::to_array<std::pair<std::string_view, PartKind>>({
    {"text", PartKind::kText},
    {"input_text", PartKind::kText},
    {"output_text", PartKind::kText},
    {"refusal", PartKind::kText},
    {"thinking", PartKind::kText},
    {"reasoning_text", PartKind::kText},
    {"summary_text", PartKind::kText},
    {"tool_use", PartKind::kToolUse},
    {"server_tool_use", PartKind::kToolUse},
    {"mcp_tool_use", PartKind::kToolUse},
    {"tool_result", PartKind::kToolResult},
    {"mcp_tool_result", PartKind::kToolResult},
    {"redacted_thinking", PartKind::kUnseen},
}));

enum class ItemKind : std::uint8_t { kMessage, kReasoning, kCall, kCallOutput, kOther };

constexpr KeyTable kItemKinds(std::to_array<std::pair<std::string_view, ItemKind>>({
    {"message", ItemKind::kMessage},
    {"reasoning", ItemKind::kReasoning},
    {"function_call", ItemKind::kCall},
    {"custom_tool_call", ItemKind::kCall},
    {"function_call_output", ItemKind::kCallOutput},
    {"custom_tool_call_output", ItemKind::kCallOutput},
}));

/// Claude Code begins its system prompt with a block that changes with every request. vLLM takes
/// such blocks out, since they would defeat its cache (entrypoints/anthropic, 0.32); so do we.
constexpr std::string_view kUnseenText = "x-anthropic-billing-header";

/// What kind of thing the word at `type` names; `untyped` when there is no such word.
template <typename Table, typename Kind>
Kind kind_of(const JsonDocument& document, const Table& table, std::optional<Token> type,
             Kind untyped, Kind unknown) {
  if (!type || !document.is_string(*type)) {
    return untyped;
  }
  return find_escaped(table, document.escaped(*type)).value_or(unknown);
}

}  // namespace

void Conversation::add_system(Token content) {
  text_.begin_turn("system");
  add_content(content);
}

void Conversation::add_messages(Token messages) {
  if (!document_.is_array(messages)) {
    return;
  }
  document_.for_each_element(messages, [this](Token message) {
    if (document_.is_object(message)) {
      add_message(message);
    } else if (document_.is_array(message)) {
      document_.for_each_element(message, [this](Token inner) {
        if (document_.is_object(inner)) {
          add_message(inner);
        }
      });
      text_.begin_item();
    }
  });
}

void Conversation::add_responses_input(Token input) {
  if (document_.is_string(input)) {
    text_.begin_turn("user");
    add_text(input);
  } else if (document_.is_array(input)) {
    document_.for_each_element(input, [this](Token item) {
      if (document_.is_object(item)) {
        add_input_item(item);
      }
    });
  }
}

void Conversation::begin_turn(OptionalToken role) {
  if (!role || !document_.is_string(*role)) {
    text_.begin_turn("");
    return;
  }
  const std::string_view escaped = document_.escaped(*role);
  if (!has_escape(escaped)) {
    text_.begin_turn(escaped);
    return;
  }
  std::string plain;
  if (!append_unescaped(plain, escaped)) {
    text_.note_bad_escape();
  }
  text_.begin_turn(plain);
}

void Conversation::add_message(Token object) {
  const auto message = read_members(document_, object, kMessageKeys);
  begin_turn(message[MessageKey::kRole]);
  add_text(message[MessageKey::kReasoning]);
  add_content(message[MessageKey::kContent]);
  add_text(message[MessageKey::kRefusal]);
  const OptionalToken calls = message[MessageKey::kToolCalls];
  if (calls && document_.is_array(*calls)) {
    document_.for_each_element(*calls, [this](Token call) {
      if (document_.is_object(call)) {
        add_tool_call(read_members(document_, call, kMessageKeys)[MessageKey::kFunction]);
      }
    });
  }
  add_tool_call(message[MessageKey::kFunction]);
}

void Conversation::add_input_item(Token item) {
  const auto members = read_members(document_, item, kMessageKeys);
  switch (kind_of(document_, kItemKinds, members[MessageKey::kType], ItemKind::kMessage,
                  ItemKind::kOther)) {
    case ItemKind::kMessage:
      begin_turn(members[MessageKey::kRole]);
      add_content(members[MessageKey::kContent]);
      break;
    case ItemKind::kReasoning:
      text_.begin_turn("assistant");
      add_content(members[MessageKey::kContent]);
      break;
    case ItemKind::kCall:
      text_.begin_turn("assistant");
      add_call(members[MessageKey::kName], members[MessageKey::kArguments]);
      break;
    case ItemKind::kCallOutput:
      text_.begin_turn("tool");
      add_content(members[MessageKey::kOutput]);
      break;
    case ItemKind::kOther:
      begin_turn(members[MessageKey::kType]);
      add_digest(item);
      break;
  }
}

void Conversation::add_content(OptionalToken content) {
  if (!content) {
    return;
  }
  if (document_.is_array(*content)) {
    document_.for_each_element(*content, [this](Token part) { add_part(part); });
  } else {
    add_part(*content);
  }
}

void Conversation::add_part(Token part) {
  if (!document_.is_object(part)) {
    add_text(part);
    return;
  }
  const auto members = read_members(document_, part, kPartKeys);
  const PartKind untyped = members[PartKey::kText] ? PartKind::kText : PartKind::kMedium;
  switch (kind_of(document_, kPartKinds, members[PartKey::kType], untyped, PartKind::kMedium)) {
    case PartKind::kText:
      if (!is_unseen(members[PartKey::kText])) {
        add_text(members[PartKey::kText]);
      }
      break;
    case PartKind::kToolUse:
      add_call(members[PartKey::kName], members[PartKey::kInput]);
      break;
    case PartKind::kToolResult:
      text_.begin_turn("tool");
      add_content(members[PartKey::kContent]);
      break;
    case PartKind::kUnseen:
      break;
    case PartKind::kMedium:
      add_digest(part);
      break;
  }
}

bool Conversation::is_unseen(OptionalToken text) const {
  return text && document_.is_string(*text) && document_.escaped(*text).starts_with(kUnseenText);
}

void Conversation::add_text(OptionalToken value) {
  if (value && document_.is_string(*value)) {
    text_.add_text(document_.escaped(*value));
  }
}

void Conversation::add_tool_call(OptionalToken call) {
  if (call && document_.is_object(*call)) {
    const auto function = read_members(document_, *call, kMessageKeys);
    add_call(function[MessageKey::kName], function[MessageKey::kArguments]);
  }
}

void Conversation::add_call(OptionalToken name, OptionalToken arguments) {
  text_.begin_item();
  if (name && document_.is_string(*name)) {
    text_.add_raw(document_.escaped(*name));
  }
  if (arguments && document_.is_string(*arguments)) {
    text_.add_raw(document_.escaped(*arguments));
  } else if (arguments && !canonical_.append(text_.buffer(), document_, *arguments)) {
    text_.note_bad_escape();
  }
}

void Conversation::add_digest(Token value) {
  bool good = true;
  text_.add_digest(canonical_.digest(document_, value, good));
  if (!good) {
    text_.note_bad_escape();
  }
}

}  // namespace rolter::openai
