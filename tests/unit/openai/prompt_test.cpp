#include "rolter/openai/prompt.h"

#include <gtest/gtest.h>

#include <string>

#include "rolter/openai/request_view.h"
#include "tests/unit/openai/padded_body.h"

namespace rolter::openai {
namespace {

constexpr const char* kUser = "\xF9";
constexpr const char* kAssistant = "\xFA";
constexpr const char* kTool = "\xFB";
constexpr const char* kItem = "\xFF";

struct OwnedPrompt {
  std::uint64_t root = 0;
  std::string text;
  bool operator==(const OwnedPrompt&) const = default;
};

/// The prompt of a body whose members after "model" are `members`.
OwnedPrompt prompt_of(Endpoint endpoint, const std::string& members) {
  RequestParser parser;
  const PaddedBody body(R"({"model":"m",)" + members + "}");
  const auto view = parser.parse(endpoint, "application/json", body.view());
  if (!view) {
    ADD_FAILURE() << view.error().message;
    return {};
  }
  return {view->prompt.root, std::string(view->prompt.text)};
}

OwnedPrompt chat(const std::string& messages, const std::string& more = "") {
  return prompt_of(Endpoint::kChatCompletions, R"("messages":[)" + messages + "]" + more);
}

const std::string kHello = R"({"role":"user","content":"hello"})";

TEST(ChatPrompt, is_the_text_of_the_turns_with_one_byte_per_later_turn) {
  const auto prompt = chat(R"({"role":"system","content":"Be brief."},
                              {"role":"user","content":"hi"},
                              {"role":"assistant","content":"Hello!"},
                              {"role":"user","content":"bye"})");
  EXPECT_EQ(prompt.text,
            std::string("Be brief.") + kUser + "hi" + kAssistant + "Hello!" + kUser + "bye");
}

TEST(ChatPrompt, the_first_role_is_in_the_root) {
  const auto user = chat(R"({"role":"user","content":"x"})");
  const auto system = chat(R"({"role":"system","content":"x"})");
  EXPECT_EQ(user.text, system.text);
  EXPECT_NE(user.root, system.root);
}

TEST(ChatPrompt, unrelated_questions_share_no_byte) {
  const auto one = chat(R"({"role":"user","content":"Why is the sky blue?"})");
  const auto two = chat(R"({"role":"user","content":"How do I bake bread?"})");
  EXPECT_EQ(one.root, two.root);
  EXPECT_NE(one.text.front(), two.text.front());
}

TEST(ChatPrompt, unknown_roles_take_two_bytes_and_differ) {
  const auto critic = chat(kHello + R"(,{"role":"critic","content":"x"})");
  const auto judge = chat(kHello + R"(,{"role":"judge","content":"x"})");
  EXPECT_EQ(critic.text.size(), std::string("hello").size() + 2 + 1);
  EXPECT_EQ(critic.text[5], '\xFE');
  EXPECT_NE(critic.text, judge.text);
}

TEST(ChatPrompt, order_spacing_and_escapes_do_not_matter) {
  const auto plain = chat(R"({"role":"user","content":"é\n\"x\" 🙂"})",
                          R"(,"cache_salt":"a/b","tools":[{"a":1,"b":[]}])");
  RequestParser parser;
  const PaddedBody body(R"( {
      "tools" : [ { "\u0062" : [ ] , "a" : 1 } ],
      "cache_\u0073alt" : "a\/b",
      "messages" : [ { "content" : "\u00e9\u000a\u0022x\" \ud83d\ude42", "role" : "us\u0065r" } ],
      "model" : "\u006d" } )");
  const auto view = parser.parse(Endpoint::kChatCompletions, "", body.view());
  ASSERT_TRUE(view.has_value());
  EXPECT_EQ(view->prompt.text, plain.text);
  EXPECT_EQ(view->prompt.root, plain.root);
}

TEST(ChatPrompt, text_parts_read_like_the_string) {
  EXPECT_EQ(chat(R"({"role":"user","content":[{"type":"text","text":"hello"}]})"), chat(kHello));
  EXPECT_EQ(chat(R"({"role":"user","content":[{"text":"a"},{"text":"b","type":"text"},"c"]})").text,
            "a\nb\nc");
}

TEST(ChatPrompt, media_are_digests_of_what_they_refer_to) {
  const auto image = [](const std::string& url) {
    return chat(R"({"role":"user","content":[{"type":"image_url","image_url":{"url":")" + url +
                R"("}},{"type":"text","text":"What is it?"}]})");
  };
  const auto cat = image("https://x/cat.png");
  EXPECT_EQ(cat.text.size(), 1 + 8 + std::string("What is it?").size());
  EXPECT_EQ(cat.text.substr(9), "What is it?");
  EXPECT_NE(cat, image("https://x/dog.png"));
  EXPECT_EQ(cat, image(R"(https:\/\/x\/cat.png)"));
}

TEST(ChatPrompt, tool_calls_and_results_are_part_of_it_and_their_ids_are_not) {
  const auto with_id = [](const std::string& id) {
    return chat(kHello + R"(,{"role":"assistant","content":null,"tool_calls":[{"id":")" + id +
                R"(","type":"function","function":{"name":"add","arguments":"{\"a\": 1}"}},
                   {"id":"2","function":{"arguments":"{}","name":"now"}}]},
                   {"role":"tool","tool_call_id":")" +
                id + R"(","content":"2"})");
  };
  const auto prompt = with_id("call_1");
  EXPECT_EQ(prompt.text, std::string("hello") + kAssistant + kItem + R"(add{"a": 1})" + kItem +
                             "now{}" + kTool + "2");
  EXPECT_EQ(prompt, with_id("call_2"));
}

TEST(ChatPrompt, reasoning_stands_before_content_and_refusal_after) {
  EXPECT_EQ(
      chat(kHello + R"(,{"refusal":"no","content":"c","reasoning_content":"r","reasoning":null,
                              "role":"assistant"})")
          .text,
      std::string("hello") + kAssistant + "r\nc\nno");
}

TEST(ChatPrompt, lone_surrogates_differ_from_each_other) {
  const auto one = chat(R"({"role":"user","content":"\ud800"})");
  EXPECT_EQ(one.text, "\xED\xA0\x80");
  EXPECT_NE(one, chat(R"({"role":"user","content":"\udc00"})"));
  EXPECT_EQ(chat(R"({"role":"user","content":"\udc00\ud83d\ude42\ud83dx"})").text,
            "\xED\xB0\x80🙂\xED\xA0\xBDx");
}

TEST(ChatPrompt, an_engines_cache_key_separates_equal_text) {
  const auto base = chat(kHello);
  for (const char* more :
       {R"(,"cache_salt":"a")", R"(,"cache_salt":"b")", R"(,"tools":[{"name":"f"}])",
        R"(,"tools":[{"name":"g"}])", R"(,"chat_template":"x")",
        R"(,"chat_template_kwargs":{"enable_thinking":false})", R"(,"reasoning_effort":"high")",
        R"(,"documents":[{"text":"d"}])", R"(,"add_special_tokens":true)"}) {
    const auto other = chat(kHello, more);
    EXPECT_EQ(other.text, base.text) << more;
    EXPECT_NE(other.root, base.root) << more;
  }
  EXPECT_NE(chat(kHello, R"(,"cache_salt":"a")").root, chat(kHello, R"(,"cache_salt":"b")").root);
}

TEST(ChatPrompt, what_is_absent_null_or_empty_is_one_root) {
  const auto base = chat(kHello);
  for (const char* more : {R"(,"cache_salt":null)", R"(,"tools":[])", R"(,"tools":null)",
                           R"(,"chat_template_kwargs":{})", R"(,"tool_choice":"auto")",
                           R"(,"temperature":0.3)", R"(,"add_generation_prompt":true)"}) {
    EXPECT_EQ(chat(kHello, more), base) << more;
  }
}

TEST(ChatPrompt, a_moving_cache_control_does_not_matter) {
  EXPECT_EQ(chat(kHello, R"(,"tools":[{"name":"f","cache_control":{"type":"ephemeral"}}])"),
            chat(kHello, R"(,"tools":[{"name":"f"}])"));
}

TEST(ChatPrompt, another_model_is_another_root_that_can_be_renamed) {
  RequestParser parser;
  const PaddedBody body(R"({"model":"adapter","messages":[)" + kHello + "]}");
  const auto view = parser.parse(Endpoint::kChatCompletions, "", body.view());
  ASSERT_TRUE(view.has_value());
  const auto base = chat(kHello);
  EXPECT_NE(view->prompt.root, base.root);
  EXPECT_EQ(view->prompt.root ^ root_of_model("adapter") ^ root_of_model("m"), base.root);
}

}  // namespace
}  // namespace rolter::openai
