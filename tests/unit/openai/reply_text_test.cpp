#include <gtest/gtest.h>

#include <string>

#include "tests/unit/openai/answer_facts.h"

namespace rolter::openai {
namespace {

TEST(ReplyText, holds_the_first_choices_text_and_calls_as_the_next_prompt_will) {
  const std::string bytes =
      delta(R"("role":"assistant","content":"")") + delta(R"("content":"a\nb \ud83d\ude42")") +
      chunk(R"([{"index":1,"delta":{"content":"other"}}])") +
      delta(R"("tool_calls":[{"index":0,"id":"1","function":{"name":"add","arguments":""}}])") +
      delta(R"("tool_calls":[{"index":0,"function":{"arguments":"{\"a\":"}}])") +
      delta(R"("tool_calls":[{"index":0,"function":{"arguments":" 1}"}}])");
  EXPECT_EQ(observe(Framing::kSse, Endpoint::kChatCompletions, bytes).reply,
            "a\nb 🙂\xFF"
            "add{\"a\": 1}");
}

TEST(ReplyText, joins_the_blocks_of_a_message) {
  const auto start = [](const std::string& block) {
    return "data: {\"type\":\"content_block_start\",\"content_block\":{" + block + "}}\n\n";
  };
  const auto piece = [](const std::string& members) {
    return "data: {\"type\":\"content_block_delta\",\"delta\":{" + members + "}}\n\n";
  };
  const std::string bytes =
      start(R"("type":"thinking","thinking":"")") +
      piece(R"("type":"thinking_delta","thinking":"t")") +
      piece(R"("type":"signature_delta","signature":"zzz")") + start(R"("type":"text","text":"")") +
      piece(R"("type":"text_delta","text":"a")") + piece(R"("type":"text_delta","text":"b")") +
      start(R"("type":"tool_use","id":"1","name":"f","input":{"text":"no"})") +
      piece(R"("type":"input_json_delta","partial_json":"{}")");
  EXPECT_EQ(observe(Framing::kSse, Endpoint::kMessages, bytes).reply,
            "t\nab\xFF"
            "f{}");
  EXPECT_EQ(observe(Framing::kJson, Endpoint::kMessages,
                    R"({"content":[{"type":"thinking","thinking":"t"},{"type":"text","text":"ab"},
                       {"type":"tool_use","name":"f","input":{"text":"no"}}]})")
                .reply,
            "t\nab\xFF"
            "f");
}

TEST(ReplyText, items_of_a_response_are_turns) {
  EXPECT_EQ(observe(Framing::kJson, Endpoint::kResponses,
                    R"({"output":[{"type":"message","content":[{"type":"output_text","text":"a"}]},
                       {"type":"function_call","name":"f","arguments":"{}"}]})")
                .reply,
            "a\xFA\xFF"
            "f{}");
}

TEST(ReplyText, is_bounded) {
  const std::string bytes = delta("\"content\":\"" + std::string(1000, 'x') + "\"") +
                            delta(R"("tool_calls":[{"function":{"name":"f"}}])");
  for (const std::size_t limit : {1, 10, 999, 1000}) {
    EXPECT_EQ(observe(Framing::kSse, Endpoint::kChatCompletions, bytes, limit).reply,
              std::string(limit, 'x'));
  }
}

}  // namespace
}  // namespace rolter::openai
