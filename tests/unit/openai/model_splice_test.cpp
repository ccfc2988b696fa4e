#include "rolter/openai/model_splice.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tests/unit/openai/padded_body.h"

namespace rolter::openai {
namespace {

/// The body as it would be sent, for a target whose model is `model`.
std::string spliced(std::string_view text, std::string_view model,
                    Endpoint endpoint = Endpoint::kChatCompletions) {
  const PaddedBody body(text);
  RequestParser parser;
  const auto view = parser.parse(endpoint, "application/json", body.view());
  EXPECT_TRUE(view.has_value());
  std::string written;
  std::string sent;
  for (const std::string_view piece :
       splice_model_and_usage(body.view(), *view, model, written).pieces) {
    sent += piece;
  }
  return sent;
}

TEST(SpliceModelAndUsage, adds_options_at_the_end_of_a_body_without_any) {
  EXPECT_EQ(
      spliced(R"({"model":"a", "stream":true ,"messages":[] })", "a"),
      R"({"model":"a", "stream":true ,"messages":[] ,"stream_options":{"include_usage":true}})");
  EXPECT_EQ(
      spliced(R"({"stream":true,"stream_options":null,"model":"a"})", "b"),
      R"({"stream":true,"stream_options":null,"model":"b","stream_options":{"include_usage":true}})");
}

TEST(SpliceModelAndUsage, completes_options_on_either_side_of_the_model) {
  EXPECT_EQ(spliced(R"({"stream":true,"stream_options":{ },"model":"a"})", "longer"),
            R"({"stream":true,"stream_options":{ "include_usage":true},"model":"longer"})");
  EXPECT_EQ(
      spliced(R"({"model":"long","stream":true,"stream_options":{"continuous_usage_stats":false}})",
              "b"),
      R"({"model":"b","stream":true,"stream_options":{"continuous_usage_stats":false,"include_usage":true}})");
  EXPECT_EQ(
      spliced(R"({"stream":true,"stream_options":{"include_usage": false , "x":1},"model":"a"})",
              "b"),
      R"({"stream":true,"stream_options":{"include_usage": true , "x":1},"model":"b"})");
}

TEST(SpliceModelAndUsage, leaves_alone_what_asks_already_or_cannot_ask) {
  for (const std::string_view body :
       {R"({"model":"a","stream":true,"stream_options":{"include_usage":true}})",
        R"({"model":"a","stream":true,"stream_options":{"include_usage":1}})",
        R"({"model":"a","stream":true,"stream_options":[]})", R"({"model":"a","stream":false})",
        R"({"model":"a"})"}) {
    EXPECT_EQ(spliced(body, "a"), body);
  }
  EXPECT_EQ(spliced(R"({"model":"a","stream":true,"input":"x"})", "b", Endpoint::kResponses),
            R"({"model":"b","stream":true,"input":"x"})");
}

TEST(SpliceModelAndUsage, completions_ask_too_and_a_byte_order_mark_moves_everything) {
  EXPECT_EQ(spliced("\xEF\xBB\xBF{\"model\":\"a\",\"stream\":true,\"prompt\":\"x\"}", "b",
                    Endpoint::kCompletions),
            "\xEF\xBB\xBF{\"model\":\"b\",\"stream\":true,\"prompt\":\"x\","
            "\"stream_options\":{\"include_usage\":true}}");
}

}  // namespace
}  // namespace rolter::openai
