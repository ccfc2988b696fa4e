#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "rolter/openai/stream_observer.h"
#include "tests/unit/openai/answer_facts.h"
#include "tests/unit/openai/vllm_sample.h"

namespace rolter::openai {
namespace {

struct Sample {
  const char* name;
  Framing framing;
  Facts facts;
};

const std::vector<Sample>& samples() {
  const std::string twice = " though\n though";
  const std::string four_times = twice + "\n" + twice + "\n";
  static const std::vector<Sample> all = {
      {"chat_stream_usage",
       Framing::kSse,
       {.content = true, .end = true, .usage = Usage{310, 8, 288}, .reply = four_times}},
      {"chat_stream_plain", Framing::kSse, {.content = true, .end = true, .reply = twice}},
      {"chat_stream_continuous_usage",
       Framing::kSse,
       {.content = true, .end = true, .usage = Usage{310, 3, 288}, .reply = twice}},
      {"chat_stream_return_token_ids",
       Framing::kSse,
       {.content = true, .end = true, .reply = twice}},
      {"messages_stream",
       Framing::kSse,
       {.content = true,
        .end = true,
        .usage = Usage{310, 6, 288},
        .reply = "members includeport Path isnfunc"}},
      {"responses_stream",
       Framing::kSse,
       {.content = true,
        .end = true,
        .usage = Usage{11, 3, 0},
        .response_id = "resp_b7c06e7b33c34fe8",
        .reply = " Generprometa"}},
      {"chat_warm",
       Framing::kJson,
       {.content = true, .end = true, .usage = Usage{310, 8, 288}, .reply = four_times}},
      {"completion",
       Framing::kJson,
       {.content = true, .end = true, .usage = Usage{5, 4, 0}, .reply = "13 enum\uFFFDcy"}},
      {"completion_token_ids",
       Framing::kJson,
       {.content = true,
        .end = true,
        .usage = Usage{40, 4, 0},
        .reply = "ardabilities sequenceWindows"}},
      {"messages_warm",
       Framing::kJson,
       {.content = true,
        .end = true,
        .usage = Usage{310, 6, 288},
        .reply = ")[qualnameK htfd\n              "}},
      {"responses_warm",
       Framing::kJson,
       {.content = true,
        .end = true,
        .usage = Usage{310, 6, 288},
        .response_id = "resp_920a2d64f2f9cca0",
        .reply = " distri Wallow outunpack Create"}},
      {"messages_count_tokens", Framing::kJson, {.content = true, .end = true}},
      {"tokenize_chat", Framing::kJson, {.content = true, .end = true}},
      {"err_stream_404", Framing::kJson, {.content = true, .end = true}},
      {"err_503_queue_full", Framing::kJson, {.content = true, .end = true}},
      {"messages_err_404", Framing::kJson, {.content = true, .end = true}},
  };
  return all;
}

TEST(AnswerObserver, reads_what_a_real_vllm_sends) {
  for (const auto& sample : samples()) {
    const VllmSample exchange = read_vllm_sample(sample.name);
    const auto endpoint = endpoint_of_path(exchange.path);
    ASSERT_TRUE(endpoint.has_value()) << sample.name;
    EXPECT_EQ(observe(sample.framing, *endpoint, exchange.answer_body), sample.facts)
        << sample.name;
  }
}

TEST(AnswerObserver, facts_do_not_depend_on_how_the_bytes_are_cut) {
  for (const auto& sample : samples()) {
    const VllmSample exchange = read_vllm_sample(sample.name);
    SCOPED_TRACE(sample.name);
    expect_same_however_cut(sample.framing, *endpoint_of_path(exchange.path), exchange.answer_body);
  }
}

}  // namespace
}  // namespace rolter::openai
