// Prompts of random conversations, printed in random ways.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "rolter/openai/prompt.h"
#include "rolter/openai/request_view.h"
#include "tests/support/volume.h"
#include "tests/unit/openai/json_value.h"
#include "tests/unit/openai/padded_body.h"

namespace rolter::openai {
namespace {

/// Makes conversations as clients send them.
class Conversations {
 public:
  explicit Conversations(std::uint32_t seed) : random_(seed) {}

  std::size_t below(std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random_);
  }

  std::string text() {
    static const std::vector<std::string> pieces = {
        "hello", " ",  "\n",   "\"quoted\"", "\\back\\slash", "/", "é",      "漢字",
        "🙂",    "\t", "{\"a", "]}",         "\x01",          "",  "\u07FF", "data: [DONE]"};
    std::string out;
    for (std::size_t i = below(12); i > 0; --i) {
      out += pieces[below(pieces.size())];
    }
    return out;
  }

  JsonValue string() { return JsonValue::string(text()); }

  JsonValue schema(int depth = 0) {
    std::vector<std::pair<std::string, JsonValue>> members = {
        {"type", JsonValue::string("object")}, {"minimum", JsonValue::literal("-1.5e3")}};
    for (std::size_t i = below(4); i > 0 && depth < 4; --i) {
      members.emplace_back("p" + std::to_string(i) + text(), schema(depth + 1));
    }
    return JsonValue::object(std::move(members));
  }

  JsonValue part() {
    switch (below(3)) {
      case 0:
        return JsonValue::object(
            {{"type", JsonValue::string("image_url")},
             {"image_url", JsonValue::object({{"url", string()}, {"detail", string()}})}});
      case 1:
        return JsonValue::object({{"type", JsonValue::string("tool_use")},
                                  {"id", string()},
                                  {"name", string()},
                                  {"input", schema()}});
      default:
        return JsonValue::object({{"type", JsonValue::string("text")}, {"text", string()}});
    }
  }

  JsonValue content() {
    if (below(3) > 0) {
      return string();
    }
    std::vector<JsonValue> parts;
    for (std::size_t i = below(4); i > 0; --i) {
      parts.push_back(part());
    }
    return JsonValue::array(std::move(parts));
  }

  JsonValue message() {
    static const std::vector<std::string> roles = {"system", "user", "assistant", "tool", "critic"};
    std::vector<std::pair<std::string, JsonValue>> members = {
        {"role", JsonValue::string(roles[below(roles.size())])}, {"content", content()}};
    if (below(3) == 0) {
      members.emplace_back("reasoning_content", string());
      members.emplace_back(
          "tool_calls",
          JsonValue::array({JsonValue::object(
              {{"id", string()},
               {"function", JsonValue::object({{"name", string()}, {"arguments", string()}})}})}));
    }
    return JsonValue::object(std::move(members));
  }

  JsonValue body(std::vector<JsonValue> messages) {
    return JsonValue::object({{"model", JsonValue::string("org/model-é")},
                              {"messages", JsonValue::array(std::move(messages))},
                              {"tools", JsonValue::array({schema(), schema()})},
                              {"cache_salt", string()},
                              {"stream", JsonValue::literal("true")},
                              {"n", JsonValue::literal("2")}});
  }

 private:
  std::mt19937 random_;
};

struct Seen {
  std::string model;
  std::uint64_t root = 0;
  std::string text;
  bool stream = false;
  std::uint32_t choices = 0;
  bool operator==(const Seen&) const = default;
};

Seen see(RequestParser& parser, Endpoint endpoint, const std::string& body) {
  const PaddedBody padded(body);
  const auto view = parser.parse(endpoint, "application/json", padded.view());
  if (!view) {
    ADD_FAILURE() << view.error().message << "\n" << body;
    return {};
  }
  return {std::string(view->model), view->prompt.root, std::string(view->prompt.text), view->stream,
          view->choices};
}

TEST(PromptProperty, spacing_order_and_escapes_do_not_matter) {
  RequestParser parser;
  for (std::uint32_t seed = 0; seed < volume(1000U); ++seed) {
    Conversations make(seed);
    std::vector<JsonValue> messages;
    for (std::size_t i = make.below(6); i > 0; --i) {
      messages.push_back(make.message());
    }
    const JsonValue body = make.body(messages);
    const Endpoint endpoint = seed % 2 == 0 ? Endpoint::kChatCompletions : Endpoint::kMessages;
    RandomPrinter print(seed);
    const std::string first = print.print(body);
    const std::string second = print.print(body);
    const Seen seen = see(parser, endpoint, first);
    ASSERT_EQ(seen.model, "org/model-é");
    ASSERT_EQ(see(parser, endpoint, second), seen) << first << "\n" << second;
  }
}

TEST(PromptProperty, a_longer_conversation_shares_all_of_its_former_turns) {
  RequestParser parser;
  for (std::uint32_t seed = 0; seed < volume(500U); ++seed) {
    Conversations make(seed);
    std::vector<JsonValue> messages = {make.message()};
    JsonValue body = make.body(messages);
    RandomPrinter print(seed);
    Seen before = see(parser, Endpoint::kChatCompletions, print.print(body));
    for (int turn = 0; turn < 5; ++turn) {
      messages.push_back(make.message());
      for (auto& [key, value] : body.members) {
        if (key == "messages") {
          value = JsonValue::array(messages);
        }
      }
      const Seen after = see(parser, Endpoint::kChatCompletions, print.print(body));
      ASSERT_EQ(after.root, before.root);
      ASSERT_TRUE(after.text.starts_with(before.text));
      ASSERT_GT(after.text.size(), before.text.size());
      before = after;
    }
  }
}

TEST(PromptProperty, a_changed_text_changes_the_prompt) {
  RequestParser parser;
  for (std::uint32_t seed = 0; seed < volume(500U); ++seed) {
    Conversations make(seed);
    const JsonValue message = make.message();
    const auto with_text = [&](const std::string& text) {
      RandomPrinter print(seed);
      return see(
          parser, Endpoint::kChatCompletions,
          print.print(JsonValue::object(
              {{"model", JsonValue::string("m")},
               {"messages",
                JsonValue::array(
                    {message, JsonValue::object({{"role", JsonValue::string("user")},
                                                 {"content", JsonValue::string(text)}})})}})));
    };
    const std::string text = make.text();
    ASSERT_NE(with_text(text).text, with_text(text + "x").text);
    ASSERT_EQ(with_text(text).root, with_text(text + "x").root);
  }
}

}  // namespace
}  // namespace rolter::openai
