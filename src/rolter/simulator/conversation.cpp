#include "rolter/simulator/conversation.h"

#include <simdjson.h>

#include <string_view>
#include <utility>

#include "rolter/simulator/reply.h"

namespace rolter::simulator {
namespace {

namespace dom = simdjson::dom;

void append_content(const dom::element& content, std::string& out);

/// One part of a content array: text in any API's words, or something that is not text.
void append_part(const dom::element& part, std::string& out) {
  std::string_view text;
  if (part.get(text) == simdjson::SUCCESS) {
    out += text;
    return;
  }
  if (!part.is_object()) {
    return;
  }
  if (part["text"].get(text) == simdjson::SUCCESS) {
    out += text;
    return;
  }
  dom::element inner;
  if (part["content"].get(inner) == simdjson::SUCCESS) {  // tool_result
    append_content(inner, out);
    return;
  }
  const std::string json = simdjson::minify(part);
  const std::string type = text_member(part, "type");
  if (type == "tool_use" || type == "function_call") {
    out += json;
  } else {
    out += "<" + type + ":" + digest_letters(json) + ">";
  }
}

void append_content(const dom::element& content, std::string& out) {
  std::string_view text;
  dom::array parts;
  if (content.get(text) == simdjson::SUCCESS) {
    out += text;
  } else if (content.get(parts) == simdjson::SUCCESS) {
    for (const dom::element part : parts) {
      append_part(part, out);
    }
  }
}

std::string member_content(const dom::element& object, std::string_view key) {
  std::string text;
  dom::element content;
  if (object.at_key(key).get(content) == simdjson::SUCCESS) {
    append_content(content, text);
  }
  return text;
}

Parsed<Turn> message_turn(const dom::element& message, std::string_view field) {
  if (!message.is_object()) {
    return std::unexpected(invalid_field(field, "a message must be an object"));
  }
  Turn turn;
  turn.role = text_member(message, "role");
  if (turn.role.empty()) {
    return std::unexpected(invalid_field(field, "a message must have a role"));
  }
  turn.text = member_content(message, "content");
  turn.text += json_member(message, "tool_calls");
  return turn;
}

Parsed<void> append_messages(const JsonValue& body, Conversation& conversation) {
  if (!has_member(body, "messages")) {
    return std::unexpected(missing_field("messages"));
  }
  dom::array messages;
  if (body["messages"].get(messages) != simdjson::SUCCESS) {
    return std::unexpected(invalid_field("messages", "must be an array"));
  }
  for (const dom::element message : messages) {
    Parsed<Turn> turn = message_turn(message, "messages");
    if (!turn) {
      return std::unexpected(std::move(turn.error()));
    }
    conversation.turns.push_back(std::move(*turn));
  }
  return {};
}

/// An item of a /v1/responses input array: a message, or the record of a tool's call or output.
Parsed<Turn> input_turn(const dom::element& item) {
  const std::string type = text_member(item, "type");
  if (type == "function_call_output") {
    return Turn{"tool", member_content(item, "output")};
  }
  if (item.is_object() && !type.empty() && type != "message") {
    return Turn{"assistant", simdjson::minify(item)};
  }
  return message_turn(item, "input");
}

}  // namespace

Parsed<Conversation> conversation_of_chat(const JsonValue& body) {
  Conversation conversation;
  conversation.tools = json_member(body, "tools");
  if (Parsed<void> read = append_messages(body, conversation); !read) {
    return std::unexpected(std::move(read.error()));
  }
  return conversation;
}

Parsed<Conversation> conversation_of_messages(const JsonValue& body) {
  Conversation conversation;
  conversation.tools = json_member(body, "tools");
  if (const std::string system = member_content(body, "system"); !system.empty()) {
    conversation.turns.push_back({"system", system});
  }
  if (Parsed<void> read = append_messages(body, conversation); !read) {
    return std::unexpected(std::move(read.error()));
  }
  return conversation;
}

Parsed<Conversation> conversation_of_responses(const JsonValue& body) {
  Conversation conversation;
  conversation.tools = json_member(body, "tools");
  if (conversation.tools == "[]") {
    conversation.tools.clear();
  }
  if (const std::string instructions = text_member(body, "instructions"); !instructions.empty()) {
    conversation.turns.push_back({"system", instructions});
  }
  if (!has_member(body, "input")) {
    return std::unexpected(missing_field("input"));
  }
  dom::array items;
  if (body["input"].get(items) != simdjson::SUCCESS) {
    conversation.turns.push_back({"user", text_member(body, "input")});
    return conversation;
  }
  for (const dom::element item : items) {
    Parsed<Turn> turn = input_turn(item);
    if (!turn) {
      return std::unexpected(std::move(turn.error()));
    }
    conversation.turns.push_back(std::move(*turn));
  }
  return conversation;
}

}  // namespace rolter::simulator
