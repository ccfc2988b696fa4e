#pragma once

#include <string>
#include <vector>

#include "rolter/simulator/chat_template.h"
#include "rolter/simulator/request_body.h"

namespace rolter::simulator {

/// A request's conversation as the chat template sees it: strings and text parts as they are; tool
/// calls as their JSON; an image, a file or audio as a mark with a digest of its reference.
struct Conversation {
  std::vector<Turn> turns;
  std::string tools;  // JSON, "" = none

  [[nodiscard]] std::vector<TokenId> tokens(GenerationPrompt prompt) const {
    return render_chat(turns, tools, prompt);
  }
  /// Text of the last turn, which replies echo a digest of.
  [[nodiscard]] std::string last_text() const { return turns.empty() ? "" : turns.back().text; }
};

/// /v1/chat/completions: messages, tools.
[[nodiscard]] Parsed<Conversation> conversation_of_chat(const JsonValue& body);
/// /v1/messages: system, messages, tools.
[[nodiscard]] Parsed<Conversation> conversation_of_messages(const JsonValue& body);
/// /v1/responses: instructions, input, tools.
[[nodiscard]] Parsed<Conversation> conversation_of_responses(const JsonValue& body);

}  // namespace rolter::simulator
