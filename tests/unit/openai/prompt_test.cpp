#include "rolter/openai/prompt.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

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

TEST(ChatPrompt, aliases_of_a_model_share_their_prompts) {
  RequestParser parser;
  const PaddedBody body(R"({"model":"adapter","messages":[)" + kHello + "]}");
  const auto view = parser.parse(Endpoint::kChatCompletions, "", body.view());
  ASSERT_TRUE(view.has_value());
  EXPECT_EQ(view->prompt.root, chat(kHello).root);
}

TEST(MessagesPrompt, reads_like_the_same_conversation_on_chat_completions) {
  const auto anthropic =
      prompt_of(Endpoint::kMessages,
                R"("max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"hi",
         "cache_control":{"type":"ephemeral"}}]}],"system":[{"text":"S","type":"text"}])");
  const auto openai = chat(R"({"role":"system","content":"S"},{"role":"user","content":"hi"})");
  EXPECT_EQ(anthropic, openai);
  EXPECT_EQ(
      prompt_of(Endpoint::kMessages, R"("system":"S","messages":[{"role":"user","content":"hi"}])"),
      openai);
}

TEST(MessagesPrompt, tool_use_results_and_thinking_are_part_of_it) {
  const auto prompt = prompt_of(Endpoint::kMessages, R"("messages":[
      {"role":"user","content":"hello"},
      {"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"sig"},
         {"type":"redacted_thinking","data":"zzz"},
         {"type":"tool_use","id":"toolu_1","name":"add","input":{"b" : [1, 2],"a":"x"}}]},
      {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1",
         "content":[{"type":"text","text":"3"}]},{"type":"tool_result","content":"4"},
         {"type":"text","text":"go on"}]}])");
  const auto reordered = prompt_of(Endpoint::kMessages, R"("messages":[
      {"role":"user","content":"hello"},
      {"role":"assistant","content":[{"type":"thinking","thinking":"t"},
         {"type":"tool_use","id":"toolu_2","name":"add","input":{"a":"\u0078","b":[1,2]}}]},
      {"role":"user","content":[{"type":"tool_result","content":"3"},
         {"type":"tool_result","content":"4"},"go on"]}])");
  EXPECT_EQ(prompt, reordered);
  const std::string head = std::string("hello") + kAssistant + "t" + kItem + "add{";
  const std::string tail = std::string("}") + kUser + kTool + "3" + kTool + "4\ngo on";
  EXPECT_TRUE(prompt.text.starts_with(head));
  EXPECT_TRUE(prompt.text.ends_with(tail));
}

TEST(MessagesPrompt, a_billing_header_that_changes_with_each_request_does_not_matter) {
  const auto with_header = [](const std::string& header) {
    return prompt_of(Endpoint::kMessages,
                     R"("system":[{"type":"text","text":"x-anthropic-billing-header: cch=)" +
                         header + R"("},{"type":"text","text":"S"}],"messages":[)" + kHello + "]");
  };
  EXPECT_EQ(with_header("1"), with_header("2"));
  EXPECT_EQ(with_header("1").text, std::string("S") + kUser + "hello");
}

TEST(ChatPrompt, reasoning_effort_separates_wherever_it_is_given) {
  const auto high = chat(kHello, R"(,"reasoning_effort":"high")");
  EXPECT_EQ(chat(kHello, R"(,"reasoning":{"effort":"high","summary":"auto"})"), high);
  EXPECT_EQ(chat(kHello, R"(,"output_config":{"format":{"type":"x"},"effort":"high"})"), high);
  EXPECT_EQ(chat(kHello, R"(,"output_config":{"format":{"type":"x"}})"), chat(kHello));
  EXPECT_NE(chat(kHello, R"(,"reasoning_effort":"low")").root, high.root);
}

TEST(ResponsesPrompt, a_string_is_a_users_turn_after_the_instructions) {
  EXPECT_EQ(prompt_of(Endpoint::kResponses, R"("input":"hello")"), chat(kHello));
  EXPECT_EQ(prompt_of(Endpoint::kResponses, R"("input":"hi","instructions":"S")"),
            chat(R"({"role":"system","content":"S"},{"role":"user","content":"hi"})"));
}

TEST(ResponsesPrompt, items_are_turns) {
  const auto prompt = prompt_of(Endpoint::kResponses, R"("input":[
      {"role":"user","content":[{"type":"input_text","text":"hello"}]},
      {"type":"reasoning","id":"rs_1","summary":[],"content":[{"type":"reasoning_text","text":"r"}]},
      {"type":"function_call","id":"fc_1","call_id":"c","name":"add","arguments":"{}"},
      {"type":"function_call_output","call_id":"c","output":"2"},
      {"type":"message","role":"assistant","id":"msg_1","status":"completed",
       "content":[{"type":"output_text","text":"two","annotations":[]}]},
      {"type":"computer_call","action":{"x":1}}])");
  const std::string text = std::string("hello") + kAssistant + "r" + kAssistant + kItem + "add{}" +
                           kTool + "2" + kAssistant + "two";
  ASSERT_EQ(prompt.text.size(), text.size() + 2 + 1 + 8);
  EXPECT_EQ(prompt.text.substr(0, text.size()), text);
}

TEST(ResponsesPrompt, what_the_engine_remembers_separates) {
  EXPECT_NE(prompt_of(Endpoint::kResponses, R"("input":"x","previous_response_id":"resp_1")").root,
            prompt_of(Endpoint::kResponses, R"("input":"x")").root);
}

TEST(CompletionsPrompt, strings_are_the_text) {
  EXPECT_EQ(prompt_of(Endpoint::kCompletions, R"("prompt":"a\nb")").text, "a\nb");
  EXPECT_EQ(prompt_of(Endpoint::kCompletions, R"("prompt":["a","b"])").text,
            std::string("a") + kItem + "b");
  EXPECT_NE(prompt_of(Endpoint::kCompletions, R"("prompt":"hello")").root, chat(kHello).root);
}

TEST(CompletionsPrompt, token_ids_are_four_bytes_each_and_a_root_of_their_own) {
  const auto ids = prompt_of(Endpoint::kCompletions, R"("prompt":[1, 258, 4294967295])");
  EXPECT_EQ(ids.text, std::string("\1\0\0\0\2\1\0\0\xff\xff\xff\xff", 12));
  EXPECT_NE(ids.root, prompt_of(Endpoint::kCompletions, R"("prompt":"x")").root);
  EXPECT_EQ(prompt_of(Endpoint::kCompletions, R"("prompt":[[1],[2]])").text,
            std::string("\1\0\0\0\xff\2\0\0\0", 9));
}

TEST(CompletionsPrompt, the_first_list_of_token_ids_is_given_to_exact_routing) {
  const auto ids = [](const std::string& prompt) {
    RequestParser parser;
    const PaddedBody body(R"({"model":"m","prompt":)" + prompt + "}");
    const auto view = parser.parse(Endpoint::kCompletions, "", body.view());
    return std::vector<std::uint32_t>(view->prompt_token_ids.begin(), view->prompt_token_ids.end());
  };
  EXPECT_EQ(ids("[7,8]"), (std::vector<std::uint32_t>{7, 8}));
  EXPECT_EQ(ids("[[7,8],[9]]"), (std::vector<std::uint32_t>{7, 8}));
  EXPECT_TRUE(ids("[]").empty());
  EXPECT_TRUE(ids("[7,-1]").empty());
  EXPECT_TRUE(ids("[7,4294967296]").empty());
  EXPECT_TRUE(ids("[7,1.5]").empty());
  EXPECT_TRUE(ids(R"([7,"x"])").empty());
  EXPECT_TRUE(ids(R"("7")").empty());
}

TEST(OtherPrompts, queries_stand_before_documents) {
  EXPECT_EQ(prompt_of(Endpoint::kRerank, R"("documents":["d1",{"text":"d2"}],"query":"q")").text,
            std::string("q") + kItem + "d1" + kItem + R"({"text":"d2",})");
  EXPECT_EQ(prompt_of(Endpoint::kScore, R"("text_2":["x","y"],"text_1":"q")").text,
            std::string("q") + kItem + "x" + kItem + "y");
  EXPECT_EQ(prompt_of(Endpoint::kEmbeddings, R"("input":["x","y"])").text,
            std::string("x") + kItem + "y");
  EXPECT_EQ(prompt_of(Endpoint::kPooling, R"("messages":[)" + kHello + "]"), chat(kHello));
}

TEST(OtherPrompts, what_uses_no_kv_cache_has_none) {
  EXPECT_EQ(prompt_of(Endpoint::kTokenize, R"("prompt":"x")").text, "");
  EXPECT_EQ(prompt_of(Endpoint::kDetokenize, R"("tokens":[1,2])").text, "");
  EXPECT_EQ(prompt_of(Endpoint::kMessagesCountTokens, R"("messages":[)" + kHello + "]").text, "");
}

}  // namespace
}  // namespace rolter::openai
