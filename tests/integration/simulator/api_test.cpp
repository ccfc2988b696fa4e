// The simulated engine's answers beside recorded ones of a real vLLM 0.32.0: same status, same
// members in the same order, same error words.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "rolter/simulator/reply.h"
#include "tests/fakes/engine_thread.h"
#include "tests/fakes/raw_client.h"
#include "tests/integration/simulator/recorded_answers.h"

namespace rolter::simulator {
namespace {

using ::testing::HasSubstr;

constexpr char kHello[] =
    R"({"model":"tiny-llama","messages":[{"role":"user","content":"def main(): return 1"}],)";

class SimulatorApi : public ::testing::Test {
 protected:
  static EngineOptions options() {
    EngineOptions options;
    options.model = "tiny-llama";
    options.limits.block_size = 32;
    options.limits.max_model_len = 2048;
    options.limits.blocks = 4096;
    options.speed = EngineSpeed{0.0, 0.0};
    options.kv_events.endpoint = "tcp://127.0.0.1:0";
    options.kv_events.replay_endpoint = "tcp://127.0.0.1:0";
    return options;
  }
  SimulatorApi() : port_(thread_.start(options()).port()) {}
  ~SimulatorApi() override { EXPECT_TRUE(thread_.bugs().empty()) << thread_.bugs().front(); }

  fakes::RawAnswer post(const std::string& path, const std::string& json) {
    return fakes::post_json(port_, path, json);
  }

  void expect_shape(const std::string& recording, const std::string& path,
                    const std::string& json) {
    const RecordedAnswer want = load_answer(recording);
    const fakes::RawAnswer got = json.empty() ? fakes::get(port_, path) : post(path, json);
    EXPECT_EQ(got.status, want.status) << recording << ": " << got.body;
    EXPECT_TRUE(got.complete);
    EXPECT_EQ(got.field("content-type"), "application/json");
    EXPECT_EQ(shape_of(got.body), shape_of(want.body)) << recording;
  }

  void expect_events(const std::string& recording, const std::string& path,
                     const std::string& json) {
    const RecordedAnswer want = load_answer(recording);
    const fakes::RawAnswer got = post(path, json);
    EXPECT_EQ(got.status, 200) << got.body;
    EXPECT_TRUE(got.complete);
    EXPECT_EQ(got.field("content-type"), "text/event-stream; charset=utf-8");
    EXPECT_EQ(shape_of_events(got.body), shape_of_events(want.body)) << recording;
  }

  void expect_same_body(const std::string& recording, const std::string& path,
                        const std::string& json) {
    const RecordedAnswer want = load_answer(recording);
    const fakes::RawAnswer got = json.empty() ? fakes::get(port_, path) : post(path, json);
    EXPECT_EQ(got.status, want.status) << recording;
    EXPECT_EQ(got.body, want.body) << recording;
  }

  fakes::EngineThread thread_;
  std::uint16_t port_;
};

TEST_F(SimulatorApi, chat_answers_have_vllms_members) {
  expect_shape("chat_cold", "/v1/chat/completions",
               std::string(kHello) + R"("max_tokens":8,"ignore_eos":true})");
  expect_shape("chat_return_token_ids", "/v1/chat/completions",
               std::string(kHello) + R"("max_tokens":8,"return_token_ids":true})");
}

TEST_F(SimulatorApi, chat_streams_have_vllms_events) {
  const std::string start =
      std::string(kHello) + R"("max_tokens":8,"ignore_eos":true,"stream":true)";
  expect_events("chat_stream_plain", "/v1/chat/completions", start + "}");
  expect_events("chat_stream_usage", "/v1/chat/completions",
                start + R"(,"stream_options":{"include_usage":true}})");
  expect_events(
      "chat_stream_continuous_usage", "/v1/chat/completions",
      start + R"(,"stream_options":{"include_usage":true,"continuous_usage_stats":true}})");
  expect_events("chat_stream_return_token_ids", "/v1/chat/completions",
                start + R"(,"return_token_ids":true})");
}

TEST_F(SimulatorApi, completions_have_vllms_members) {
  expect_shape("completion", "/v1/completions",
               R"({"model":"tiny-llama","prompt":"def main(): return 1","max_tokens":4})");
  expect_shape("completion_token_ids", "/v1/completions",
               R"({"prompt":[498,844,433],"max_tokens":4,"return_token_ids":true})");
}

TEST_F(SimulatorApi, messages_have_vllms_members_and_events) {
  const std::string start = std::string(kHello) + R"("max_tokens":6)";
  expect_shape("messages", "/v1/messages", start + "}");
  expect_events("messages_stream", "/v1/messages", start + R"(,"stream":true})");
  expect_shape("messages_count_tokens", "/v1/messages/count_tokens",
               std::string(kHello) + R"("max_tokens":6})");
}

TEST_F(SimulatorApi, responses_have_vllms_members_and_events) {
  const std::string start = R"({"model":"tiny-llama","input":"def main","max_output_tokens":3)";
  expect_shape("responses", "/v1/responses", start + "}");
  expect_events("responses_stream", "/v1/responses", start + R"(,"stream":true})");
}

TEST_F(SimulatorApi, tokens_can_be_asked_for) {
  expect_shape("tokenize_chat", "/tokenize", std::string(kHello) + R"("x":1})");
  expect_shape("tokenize_completion", "/tokenize",
               R"({"prompt":"def main(): return 1","return_token_strs":true})");
  const fakes::RawAnswer tokens = post("/tokenize", R"({"prompt":"hello, world 42"})");
  const std::size_t at = tokens.body.find("\"tokens\":");
  const std::string ids = tokens.body.substr(at, tokens.body.find(']', at) + 1 - at);
  EXPECT_EQ(post("/detokenize", "{" + ids + "}").body, R"({"prompt":"hello, world 42"})");
}

TEST_F(SimulatorApi, what_is_asked_about_the_engine_is_answered_as_vllm_does) {
  expect_shape("get_kv_event_sources", "/kv_event_sources", "");
  expect_same_body("get_version", "/version", "");
  expect_same_body("get_load", "/load", "");
  EXPECT_EQ(fakes::get(port_, "/health").status, 200);
  EXPECT_EQ(fakes::get(port_, "/health").body, "");
  EXPECT_THAT(fakes::get(port_, "/v1/models").body, HasSubstr(R"("id":"tiny-llama")"));
}

TEST_F(SimulatorApi, errors_have_vllms_words) {
  const std::string chat = "/v1/chat/completions";
  expect_same_body("err_404_model", chat, R"({"model":"nope","messages":[]})");
  expect_same_body("tokenize_404", "/tokenize", R"({"model":"nope","prompt":"x"})");
  expect_same_body("messages_err_404", "/v1/messages",
                   R"({"model":"nope","max_tokens":6,"messages":[{"role":"user","content":"x"}]})");
  expect_same_body("responses_err_404", "/v1/responses", R"({"model":"nope","input":"x"})");
  expect_same_body("err_400_bad_param", chat, std::string(kHello) + R"("temperature":-3})");
  expect_same_body("err_400_max_tokens", chat, std::string(kHello) + R"("max_tokens":100000})");
  expect_same_body("err_empty_prompt", "/v1/completions", R"({"prompt":[]})");
  expect_same_body("err_token_out_of_vocab", "/v1/completions", R"({"prompt":[1,2,999999]})");
  expect_same_body("err_404_path", "/v1/nothing", "");
  expect_same_body("err_405", chat, "");
  expect_shape("err_400_missing_messages", chat, R"({"model":"tiny-llama"})");
}

TEST_F(SimulatorApi, the_context_length_is_a_limit) {
  std::string ids = "5";
  for (int i = 1; i < 2100; ++i) {
    ids += ",5";
  }
  expect_same_body("err_400_context_completion", "/v1/completions",
                   R"({"prompt":[)" + ids + R"(],"max_tokens":4})");
  expect_same_body("err_400_context_exact", "/v1/completions",
                   R"({"prompt":[)" + ids.substr(0, 2 * 2048 - 1) + R"(],"max_tokens":1})");
}

TEST_F(SimulatorApi, only_json_is_taken) {
  const RecordedAnswer want = load_answer("err_415_text");
  const fakes::RawAnswer got =
      fakes::post_json(port_, "/v1/chat/completions", "{}", {{"Content-Type", "text/plain"}});
  EXPECT_EQ(got.status, want.status);
  EXPECT_EQ(got.body, want.body);
}

TEST_F(SimulatorApi, a_lone_surrogate_is_taken) {
  const fakes::RawAnswer got =
      post("/v1/chat/completions",
           R"({"messages":[{"role":"user","content":"a\ud800b \ud83d\ude00"}],"max_tokens":4})");
  EXPECT_EQ(got.status, 200) << got.body;
  EXPECT_THAT(got.body, HasSubstr("\"content\":\"" + digest_letters("a\xEF\xBF\xBD"
                                                                    "b \xF0\x9F\x98\x80")));
}

TEST_F(SimulatorApi, an_answer_shows_which_question_it_belongs_to) {
  const fakes::RawAnswer chat = post("/v1/chat/completions", std::string(kHello) + R"("n":2})");
  EXPECT_THAT(chat.body, HasSubstr("\"content\":\"" + digest_letters("def main(): return 1")));
  const fakes::RawAnswer ids = post("/v1/completions", R"({"prompt":[12,7,300]})");
  EXPECT_THAT(ids.body, HasSubstr("\"text\":\"" + digest_letters("12,7,300")));
}

TEST_F(SimulatorApi, a_callers_request_id_becomes_part_of_the_id) {
  const fakes::RawAnswer got =
      fakes::post_json(port_, "/v1/chat/completions", std::string(kHello) + R"("max_tokens":1})",
                       {{"X-Request-Id", "gw-12345"}});
  EXPECT_THAT(got.body, HasSubstr(R"("id":"chatcmpl-gw-12345")"));
  EXPECT_EQ(got.field("x-request-id"), "");
}

TEST_F(SimulatorApi, the_second_time_the_prompt_is_cached) {
  std::string body = R"({"messages":[{"role":"user","content":")";
  for (int i = 0; i < 60; ++i) {
    body += "import os, sys ";
  }
  body += R"("}],"max_tokens":2})";
  EXPECT_THAT(post("/v1/chat/completions", body).body, HasSubstr(R"("cached_tokens":0,)"));
  const fakes::RawAnswer warm = post("/v1/chat/completions", body);
  EXPECT_THAT(warm.body, HasSubstr(R"("created_cache_tokens":0)"));
  EXPECT_THAT(warm.body, ::testing::Not(HasSubstr(R"("cached_tokens":0,)")));
}

TEST_F(SimulatorApi, a_stored_response_can_be_continued) {
  const fakes::RawAnswer first =
      post("/v1/responses", R"({"input":"tell me about caches","max_output_tokens":20})");
  const std::size_t at = first.body.find("resp_");
  const std::string id = first.body.substr(at, first.body.find('"', at) - at);
  const fakes::RawAnswer second =
      post("/v1/responses", R"({"input":"more","previous_response_id":")" + id + R"("})");
  EXPECT_EQ(second.status, 200) << second.body;
  const fakes::RawAnswer unknown =
      post("/v1/responses", R"({"input":"more","previous_response_id":"resp_nope"})");
  EXPECT_EQ(unknown.status, 404);
}

TEST_F(SimulatorApi, embeddings_are_a_function_of_the_text) {
  const std::string one = R"({"input":"warm cache"})";
  const auto embedding = [this](const std::string& json) {
    const std::string body = post("/v1/embeddings", json).body;
    return body.substr(body.find("\"data\""), body.find("\"usage\"") - body.find("\"data\""));
  };
  EXPECT_EQ(embedding(one), embedding(one));
  EXPECT_NE(embedding(one), embedding(R"({"input":"cold cache"})"));
  EXPECT_THAT(embedding(R"({"input":["a","b"],"encoding_format":"base64","dimensions":3})"),
              ::testing::MatchesRegex(R"(.*"embedding":"[A-Za-z0-9+/]{16}".*"index":1.*)"));
}

TEST_F(SimulatorApi, rerank_and_score_prefer_the_document_that_shares_words) {
  const fakes::RawAnswer rerank = post("/v1/rerank", R"({"query":"prefix cache of blocks",
      "documents":["a recipe for bread","blocks of the prefix cache"],"top_n":1})");
  EXPECT_THAT(rerank.body, HasSubstr(R"("results":[{"index":1,)"));
  const fakes::RawAnswer score =
      post("/v1/score", R"({"text_1":"prefix cache","text_2":["prefix cache","bread"]})");
  EXPECT_EQ(score.status, 200);
  EXPECT_THAT(score.body, HasSubstr(R"("index":1,"object":"score")"));
}

TEST_F(SimulatorApi, a_transcript_is_a_function_of_the_file) {
  const std::string form =
      "--xx\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n\r\nRIFF1234"
      "\r\n--xx\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\ntiny-llama\r\n--xx--\r\n";
  const fakes::RawAnswer got =
      fakes::post_json(port_, "/v1/audio/transcriptions", form,
                       {{"Content-Type", "multipart/form-data; boundary=xx"}});
  EXPECT_EQ(got.status, 200) << got.body;
  EXPECT_THAT(got.body, HasSubstr("{\"text\":\"" + digest_letters("RIFF1234")));
}

TEST_F(SimulatorApi, metrics_tell_what_a_router_may_look_at) {
  (void)post("/v1/completions", R"({"prompt":[1,2,3],"max_tokens":2,"ignore_eos":true})");
  const std::string page = fakes::get(port_, "/metrics").body;
  EXPECT_THAT(page,
              HasSubstr("vllm:num_requests_running{engine=\"0\",model_name=\"tiny-llama\"} 0\n"));
  EXPECT_THAT(page,
              HasSubstr("vllm:prompt_tokens_total{engine=\"0\",model_name=\"tiny-llama\"} 3\n"));
  EXPECT_THAT(page, HasSubstr("vllm:cache_config_info{block_size=\"32\""));
}

}  // namespace
}  // namespace rolter::simulator
