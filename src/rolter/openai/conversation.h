#pragma once

#include <optional>
#include <string_view>

#include "rolter/openai/canonical.h"
#include "rolter/openai/json_document.h"
#include "rolter/openai/prompt_text.h"

namespace rolter::openai {

/// Turns conversations into prompt text: what a chat template renders, in the order it renders it,
/// whatever the order of a message's members. What is not of the expected type is passed over: the
/// engine is the judge of it.
///
/// Rendered: role; reasoning (also reasoning_content and thinking blocks); content, text parts as
/// text and every other part as a digest of all it holds; refusal; name and arguments of tool
/// calls. Left out, since templates do not render them: ids (also tool_call_id), name, audio,
/// cache_control, status, signatures.
class Conversation {
 public:
  Conversation(const JsonDocument& document, Canonical& canonical, PromptText& text)
      : document_(document), canonical_(canonical), text_(text) {}

  /// A system prompt beside the messages: a string or text blocks.
  void add_system(JsonDocument::Token content);

  /// OpenAI's and Anthropic's "messages"; an array within it (vLLM's batch) is a conversation too.
  void add_messages(JsonDocument::Token messages);

  /// The "input" of /v1/responses: a string or items.
  void add_responses_input(JsonDocument::Token input);

 private:
  using OptionalToken = std::optional<JsonDocument::Token>;

  void begin_turn(OptionalToken role);
  void add_message(JsonDocument::Token object);
  void add_input_item(JsonDocument::Token item);
  void add_content(OptionalToken content);
  void add_part(JsonDocument::Token part);
  [[nodiscard]] bool is_unseen(OptionalToken text) const;
  void add_text(OptionalToken value);
  void add_tool_call(OptionalToken call);
  void add_call(OptionalToken name, OptionalToken arguments);
  void add_digest(JsonDocument::Token value);

  const JsonDocument& document_;
  Canonical& canonical_;
  PromptText& text_;
};

}  // namespace rolter::openai
