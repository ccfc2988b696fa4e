#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "rolter/openai/request_view.h"
#include "tests/unit/openai/padded_body.h"

namespace rolter::openai {
namespace {

using testing::HasSubstr;

/// A parser with the body its last view points into.
class Parsed {
 public:
  explicit Parsed(std::string_view body, Endpoint endpoint = Endpoint::kChatCompletions)
      : body_(body), result_(parser_.parse(endpoint, "application/json", body_.view())) {}

  [[nodiscard]] const RequestView& view() const { return result_.value(); }
  [[nodiscard]] bool good() const { return result_.has_value(); }
  [[nodiscard]] std::string error() const { return good() ? "" : result_.error().message; }
  [[nodiscard]] std::string_view model_token() const {
    return body_.view().substr(view().model_token.offset, view().model_token.length);
  }
  [[nodiscard]] const Error& failure() const { return result_.error(); }

 private:
  PaddedBody body_;
  RequestParser parser_;
  Result<RequestView> result_;
};

TEST(RequestParser, model_is_found_with_its_place_in_the_body) {
  const Parsed parsed(R"({"messages": [], "model" : "llama" , "stream": true})");
  EXPECT_EQ(parsed.view().model, "llama");
  EXPECT_EQ(parsed.model_token(), R"("llama")");
  EXPECT_TRUE(parsed.view().model_is_json);
  EXPECT_TRUE(parsed.view().stream);
}

TEST(RequestParser, model_may_be_spelled_with_escapes) {
  const Parsed parsed(R"({"m\u006fdel":"lla\u006da\/x"})");
  EXPECT_EQ(parsed.view().model, "llama/x");
  EXPECT_EQ(parsed.model_token(), R"("lla\u006da\/x")");
}

TEST(RequestParser, a_byte_order_mark_moves_the_model_but_hides_nothing) {
  const Parsed parsed("\xEF\xBB\xBF{\"model\":\"llama\"}");
  EXPECT_EQ(parsed.model_token(), R"("llama")");
}

TEST(RequestParser, a_prompt_that_is_not_all_text_says_so) {
  const auto has_media = [](const std::string& part) {
    return Parsed(
               R"({"model":"a","messages":[{"role":"user","content":[{"type":"text","text":"x"},)" +
               part + "]}]}")
        .view()
        .prompt.has_media;
  };
  EXPECT_TRUE(has_media(R"({"type":"image_url","image_url":{"url":"https://x/cat.png"}})"));
  EXPECT_FALSE(has_media(R"({"type":"text","text":"y"})"));
}

TEST(RequestParser, errors_are_the_clients_and_name_the_mend) {
  const Parsed parsed("{}");
  EXPECT_EQ(parsed.failure().kind, ErrorKind::kInvalidInput);
  EXPECT_EQ(parsed.failure().source, ErrorSource::kClient);
  EXPECT_EQ(parsed.failure().retry, Retry::kNo);
  EXPECT_THAT(parsed.error(), HasSubstr("\"model\" is missing; name the model"));
}

TEST(RequestParser, bodies_that_are_no_object_are_refused) {
  EXPECT_THAT(Parsed("[]").error(), HasSubstr("must be a JSON object, not an array"));
  EXPECT_THAT(Parsed(R"("x")").error(), HasSubstr("must be a JSON object, not a string"));
  EXPECT_THAT(Parsed("7").error(), HasSubstr("must be a JSON object, not a number"));
  EXPECT_THAT(Parsed("").error(), HasSubstr("it is empty"));
  EXPECT_THAT(Parsed(R"({"model":"x")").error(), HasSubstr("ends before it is complete"));
  EXPECT_THAT(Parsed(R"({"model":"x"}{)").error(), HasSubstr("something follows its end"));
  EXPECT_THAT(Parsed(std::string(100'000, '[')).error(), HasSubstr("nested deeper than 1024"));
  EXPECT_THAT(Parsed("{\"model\":\"x\",\"a\":\"\xff\"}").error(), HasSubstr("not valid UTF-8"));
}

TEST(RequestParser, model_must_be_one_string_that_is_not_empty) {
  EXPECT_THAT(Parsed(R"({"model":5})").error(), HasSubstr("\"model\" must be a string, not a num"));
  EXPECT_THAT(Parsed(R"({"model":null})").error(), HasSubstr("must be a string, not null"));
  EXPECT_THAT(Parsed(R"({"model":["x"]})").error(), HasSubstr("must be a string, not an array"));
  EXPECT_THAT(Parsed(R"({"model":""})").error(), HasSubstr("\"model\" is empty"));
  EXPECT_THAT(Parsed(R"({"model":"a","model":"a"})").error(), HasSubstr("given twice"));
  EXPECT_THAT(Parsed(R"({"model":"a","x":[{}],"m\u006Fdel":"b"})").error(),
              HasSubstr("given twice"));
  EXPECT_TRUE(Parsed(R"({"model":"a","x":{"model":"b"}})").good());
}

TEST(RequestParser, stream_is_true_only_when_the_engine_reads_it_so) {
  const auto streams = [](const std::string& value) {
    return Parsed(R"({"model":"a","stream":)" + value + "}").view().stream;
  };
  EXPECT_TRUE(streams("true"));
  EXPECT_TRUE(streams("1"));
  EXPECT_FALSE(streams("false"));
  EXPECT_FALSE(streams("null"));
  EXPECT_FALSE(streams("0"));
  EXPECT_FALSE(streams("[true]"));
  EXPECT_FALSE(Parsed(R"({"model":"a"})").view().stream);
  EXPECT_TRUE(Parsed(R"({"model":"a","stream":false,"stream":true})").view().stream);
}

TEST(RequestParser, options_are_read_and_nulls_are_absent) {
  const Parsed parsed(R"({"model":"a","n":3,"max_tokens":7,"stream_options":{"include_usage":true},
                          "session_id":"s\u0031","cache_salt":"\u0074enant","max_completion_tokens":null})");
  EXPECT_EQ(parsed.view().choices, 3);
  EXPECT_EQ(parsed.view().max_output_tokens, 7);
  EXPECT_TRUE(parsed.view().include_usage);
  EXPECT_EQ(parsed.view().session_id, "s1");
  EXPECT_EQ(parsed.view().cache_salt, "tenant");

  const Parsed nulls(R"({"model":"a","n":null,"max_tokens":null,"stream_options":null,
                         "session_id":null,"logprobs":null})");
  EXPECT_EQ(nulls.view().choices, 1);
  EXPECT_EQ(nulls.view().max_output_tokens, 0);
  EXPECT_FALSE(nulls.view().include_usage);
  EXPECT_EQ(nulls.view().session_id, "");
}

TEST(RequestParser, odd_values_are_left_to_the_engine) {
  EXPECT_TRUE(Parsed(R"({"model":"a","n":-1,"max_tokens":1e9,"messages":"x","tools":5})").good());
  EXPECT_TRUE(
      Parsed(R"({"model":"a","messages":[1,null,"x",[2],{"role":5,"content":{}}]})").good());
  EXPECT_TRUE(Parsed(R"({"model":"a","temperature":NaN})").good());
}

TEST(RequestParser, an_unknown_escape_in_the_prompt_is_refused) {
  EXPECT_THAT(Parsed(R"({"model":"a","messages":[{"role":"user","content":"\x"}]})").error(),
              HasSubstr("unknown escape"));
}

TEST(RequestParser, depth_within_reach_of_the_engine_is_forwarded) {
  const std::string deep = std::string(1000, '[') + std::string(1000, ']');
  EXPECT_TRUE(Parsed(R"({"model":"a","x":)" + deep + "}").good());
  EXPECT_TRUE(Parsed(R"({"model":"a","tools":)" + deep + "}").good());
  EXPECT_TRUE(Parsed(R"({"model":"a","prompt":)" + deep + "}", Endpoint::kCompletions).good());
}

TEST(RequestParser, one_parser_reads_many_bodies) {
  RequestParser parser;
  const PaddedBody large(R"({"model":"big","messages":[{"role":"user","content":")" +
                         std::string(1'000'000, 'x') + R"("}]})");
  const PaddedBody small(R"({"model":"small","messages":[{"role":"user","content":"y"}]})");
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(parser.parse(Endpoint::kChatCompletions, "", large.view())->prompt.text.size(),
              1'000'000);
    EXPECT_FALSE(parser.parse(Endpoint::kChatCompletions, "", "").has_value());
    EXPECT_EQ(parser.parse(Endpoint::kChatCompletions, "", small.view())->prompt.text, "y");
  }
}

TEST(Endpoints, aliases_and_versions_are_one_endpoint) {
  EXPECT_EQ(endpoint_of_path("/v1/chat/completions"), Endpoint::kChatCompletions);
  EXPECT_EQ(endpoint_of_path("/v1/messages/count_tokens"), Endpoint::kMessagesCountTokens);
  for (const char* path : {"/rerank", "/v1/rerank", "/v2/rerank"}) {
    EXPECT_EQ(endpoint_of_path(path), Endpoint::kRerank);
  }
  for (const char* path : {"/score", "/v1/score"}) {
    EXPECT_EQ(endpoint_of_path(path), Endpoint::kScore);
  }
  for (const char* path : {"", "/", "/v1/chat/completions/", "/V1/completions", "/v3/rerank"}) {
    EXPECT_EQ(endpoint_of_path(path), std::nullopt) << path;
  }
}

TEST(Endpoints, only_messages_are_anthropic_shaped) {
  EXPECT_EQ(shape_of(Endpoint::kMessages), ApiShape::kAnthropic);
  EXPECT_EQ(shape_of(Endpoint::kMessagesCountTokens), ApiShape::kAnthropic);
  EXPECT_EQ(shape_of(Endpoint::kResponses), ApiShape::kOpenAi);
}

}  // namespace
}  // namespace rolter::openai
