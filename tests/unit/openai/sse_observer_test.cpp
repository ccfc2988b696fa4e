#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "rolter/openai/stream_observer.h"
#include "tests/unit/openai/answer_facts.h"
#include "tests/unit/openai/vllm_sample.h"

namespace rolter::openai {
namespace {

bool is_content(const std::string& bytes, Endpoint endpoint = Endpoint::kChatCompletions) {
  return observe(Framing::kSse, endpoint, bytes).content;
}

TEST(SseObserver, content_begins_with_text_reasoning_calls_errors_and_comments) {
  EXPECT_TRUE(is_content(delta(R"("content":"x")")));
  EXPECT_TRUE(is_content(delta(R"("content":null,"reasoning":"x")")));
  EXPECT_TRUE(is_content(delta(R"("refusal":"no")")));
  EXPECT_TRUE(is_content(delta(R"("tool_calls":[{"index":0,"function":{"name":"f"}}])")));
  EXPECT_TRUE(is_content(": keep-alive\n"));
  EXPECT_TRUE(is_content("data: {\"error\": {\"message\": \"EngineCore\", \"code\": 500}}\n\n"));
  EXPECT_TRUE(is_content(chunk(R"([{"index":0,"text":"x"}])"), Endpoint::kCompletions));
}

TEST(SseObserver, roles_and_empty_deltas_are_no_content) {
  EXPECT_FALSE(is_content(delta(R"("role":"assistant","content":"")")));
  EXPECT_FALSE(is_content(delta("")));
  EXPECT_FALSE(is_content(delta(R"("content":null)")));
  EXPECT_FALSE(is_content(delta(R"("tool_calls":[])")));
  EXPECT_FALSE(is_content(chunk("[]", R"(,"usage":{"prompt_tokens":1,"completion_tokens":0})")));
  EXPECT_FALSE(is_content("data: {\"id\":\"no choices\"}\n\n"));
  EXPECT_FALSE(is_content("event: ping\nid: 7\nretry: 10\n\n"));
  EXPECT_FALSE(is_content(chunk(R"([{"index":0,"text":"","finish_reason":"stop"}])"),
                          Endpoint::kCompletions));
  EXPECT_FALSE(is_content("data: {\"error\":null}\n\n"));
}

TEST(SseObserver, an_event_counts_once_its_empty_line_has_come) {
  std::string bytes = delta(R"("content":"x")");
  bytes.pop_back();
  EXPECT_FALSE(is_content(bytes));
}

TEST(SseObserver, only_a_whole_anchored_end_event_is_the_end) {
  const auto ends = [](const std::string& bytes) {
    return observe(Framing::kSse, Endpoint::kChatCompletions, bytes).end;
  };
  EXPECT_TRUE(ends("data: [DONE]\n\n"));
  EXPECT_TRUE(ends("data:[DONE]\r\n\r\n"));
  EXPECT_TRUE(ends("data: [DONE]\r\r"));
  EXPECT_FALSE(ends("data: [DONE]"));
  EXPECT_FALSE(ends("data: [DONE]\n"));
  EXPECT_FALSE(ends("data: [DONE] \n\n"));
  EXPECT_FALSE(ends(" data: [DONE]\n\n"));
  EXPECT_FALSE(ends("data: x\ndata: [DONE]\n\n"));
  EXPECT_FALSE(ends(": data: [DONE]\n\n"));
  EXPECT_FALSE(ends(delta(R"("content":"data: [DONE]\n\ndata: [DONE]\n\n")")));
}

TEST(SseObserver, all_line_ends_are_read_alike) {
  const std::string bytes = "\n" + read_vllm_sample("chat_stream_usage").answer_body;
  const Facts facts = observe(Framing::kSse, Endpoint::kChatCompletions, bytes);
  for (const std::string line_end : {"\r\n", "\r"}) {
    std::string other;
    for (const char c : bytes) {
      other += c == '\n' ? line_end : std::string(1, c);
    }
    EXPECT_EQ(observe(Framing::kSse, Endpoint::kChatCompletions, other), facts);
    expect_same_however_cut(Framing::kSse, Endpoint::kChatCompletions, other);
  }
}

TEST(SseObserver, a_byte_order_mark_missing_spaces_and_split_data_are_read) {
  const std::string bytes =
      "\xEF\xBB\xBF"
      "data:{\"choices\":[{\"index\":0,\ndata: \"delta\":{\"content\":\ndata:\"x\"}}],\n"
      "data\ndata: \"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1}}\n\n";
  const Facts facts{.content = true, .usage = Usage{3, 1, std::nullopt}, .reply = "x"};
  EXPECT_EQ(observe(Framing::kSse, Endpoint::kChatCompletions, bytes), facts);
  expect_same_however_cut(Framing::kSse, Endpoint::kChatCompletions, bytes);
}

TEST(SseObserver, words_in_the_text_are_not_mistaken_for_keys) {
  const std::string bytes =
      delta(R"("content":"\"usage\":{\"prompt_tokens\":9},\"finish_reason\":\"abort\"")") +
      delta(R"("content":"usage")") + delta(R"("content":"\\\"usage\": {\"prompt_tokens\": 7}")");
  const Facts facts = observe(Framing::kSse, Endpoint::kChatCompletions, bytes, 0);
  EXPECT_EQ(facts, (Facts{.content = true}));
}

TEST(SseObserver, usage_of_the_last_event_that_has_it_counts) {
  const std::string bytes =
      delta(R"("content":"x")") + chunk("[]", R"(,"usage":null)") +
      chunk(R"([{"index":0,"delta":{"content":"y"}}])",
            R"(, "usage" : {"prompt_tokens": 5, "completion_tokens": 1})") +
      chunk("[]", R"(,"usage":{"completion_tokens":2,"prompt_tokens":5,)"
                  R"("prompt_tokens_details":{"cached_tokens":null,"audio":{"cached":1}}})");
  EXPECT_EQ(observe(Framing::kSse, Endpoint::kChatCompletions, bytes).usage,
            (Usage{5, 2, std::nullopt}));
}

TEST(SseObserver, a_draining_vllm_is_recognised) {
  const auto aborts = [](Framing framing, Endpoint endpoint, const std::string& bytes) {
    return observe(framing, endpoint, bytes).empty_abort;
  };
  const std::string aborted =
      chunk(R"([{"index":0,"delta":{"content":""},"finish_reason":"abort"}])");
  EXPECT_TRUE(aborts(Framing::kSse, Endpoint::kChatCompletions,
                     delta(R"("role":"assistant","content":"")") + aborted));
  EXPECT_FALSE(
      aborts(Framing::kSse, Endpoint::kChatCompletions, delta(R"("content":"x")") + aborted));
  EXPECT_TRUE(aborts(Framing::kJson, Endpoint::kCompletions,
                     R"({"id":"cmpl-1","object":"text_completion","choices":[{"index":0,"text":"",)"
                     R"("logprobs":null,"finish_reason":"abort"}]})"));
  EXPECT_FALSE(aborts(Framing::kJson, Endpoint::kCompletions,
                      R"({"choices":[{"index":0,"text":"","finish_reason":"stop"}]})"));
}

TEST(SseObserver, a_draining_vllm_is_recognised_where_it_does_not_say_so) {
  const auto messages = [](const std::string& block, int tokens) {
    return observe(Framing::kSse, Endpoint::kMessages,
                   "event: message_start\ndata: {\"type\":\"message_start\",\"message\":"
                   "{\"role\":\"assistant\",\"content\":[],\"usage\":{\"input_tokens\":3,"
                   "\"output_tokens\":0}}}\n\n" +
                       block +
                       "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":null},"
                       "\"usage\":{\"input_tokens\":3,\"output_tokens\":" +
                       std::to_string(tokens) + "}}\n\ndata: {\"type\":\"message_stop\"}\n\n");
  };
  EXPECT_TRUE(messages("", 0).empty_abort);
  EXPECT_FALSE(messages("", 1).empty_abort);
  EXPECT_FALSE(
      messages("data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\","
               "\"text\":\"x\"}}\n\n",
               0)
          .empty_abort);
  EXPECT_TRUE(
      observe(Framing::kJson, Endpoint::kMessages,
              R"({"type":"message","content":[],"usage":{"input_tokens":3,"output_tokens":0}})")
          .empty_abort);
}

TEST(SseObserver, anthropic_events_are_read) {
  EXPECT_TRUE(is_content("data: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n",
                         Endpoint::kMessages));
  EXPECT_TRUE(
      is_content("data: {\"type\":\"content_block_start\",\"content_block\":{\"type\":"
                 "\"tool_use\",\"id\":\"t\",\"name\":\"f\",\"input\":{}}}\n\n",
                 Endpoint::kMessages));
  EXPECT_FALSE(
      is_content("data: {\"type\":\"content_block_start\",\"content_block\":{\"type\":"
                 "\"text\",\"text\":\"\"}}\n\n",
                 Endpoint::kMessages));
  EXPECT_FALSE(is_content("data: {\"type\":\"ping\"}\n\n", Endpoint::kMessages));
}

TEST(SseObserver, names_within_a_tools_schema_mean_nothing) {
  const std::string created =
      R"(data: {"type":"response.created","response":{"id":"resp_1","output":[],"error":null,)"
      R"("tools":[{"name":"f","parameters":{"usage":{"prompt_tokens":1},"delta":{"x":"y"},)"
      R"("output":{"text":"z"},"error":{"a":"b"},"id":"no"}}],"usage":null}})";
  EXPECT_EQ(observe(Framing::kSse, Endpoint::kResponses, created + "\n\n"),
            (Facts{.response_id = "resp_1"}));
}

TEST(SseObserver, long_events_are_read_as_they_pass) {
  const std::string text(200'000, 'x');
  const std::string bytes =
      chunk(R"([{"index":0,"delta":{"role":"assistant","content":""}}])",
            R"(,"prompt_token_ids":[1)" + std::string(300'000, '1') + "]") +
      delta("\"content\":\"" + text + "\"") +
      chunk("[]", R"(,"x":")" + text + R"(","usage":{"prompt_tokens":5,"completion_tokens":2})") +
      "data: [DONE]\n\n";
  const Facts facts{
      .content = true, .end = true, .usage = Usage{5, 2, std::nullopt}, .reply = text};
  EXPECT_EQ(observe(Framing::kSse, Endpoint::kChatCompletions, bytes), facts);
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::string> pieces;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t size = std::uniform_int_distribution<std::size_t>(1, 60'000)(random);
      pieces.push_back(bytes.substr(at, size));
      at += size;
    }
    ASSERT_EQ(observe_pieces(Framing::kSse, Endpoint::kChatCompletions, pieces), facts);
  }
}

TEST(SseObserver, an_endless_line_is_not_kept) {
  const auto observer = make_sse_observer(Endpoint::kChatCompletions);
  const std::string piece(1'000'000, 'x');
  observer->feed("data: ");
  for (int i = 0; i < 100; ++i) {
    observer->feed(piece);
  }
  EXPECT_FALSE(observer->saw_end());
  observer->feed("\n\ndata: [DONE]\n\n");
  EXPECT_TRUE(observer->saw_end());
}

}  // namespace
}  // namespace rolter::openai
