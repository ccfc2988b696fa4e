#include "rolter/openai/error_body.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace rolter::openai {
namespace {

std::string as_json(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

TEST(JsonString, quotes_and_backslashes_are_escaped) {
  EXPECT_EQ(as_json(R"(a "b" c:\d)"), R"("a \"b\" c:\\d")");
}

TEST(JsonString, control_characters_are_escaped) {
  EXPECT_EQ(as_json(std::string_view("\0\x1b\n\r\t\x7f", 6)), R"("\u0000\u001b\n\r\t\u007f")");
}

TEST(JsonString, valid_utf8_stays_as_it_is) {
  EXPECT_EQ(as_json("é漢🙂\u07FF\uFFFF\U0010FFFF"), "\"é漢🙂\u07FF\uFFFF\U0010FFFF\"");
}

TEST(JsonString, each_invalid_byte_becomes_a_replacement_character) {
  EXPECT_EQ(as_json("a\xFFz"), "\"a\uFFFDz\"");
  EXPECT_EQ(as_json("\xC0\xAF"), "\"\uFFFD\uFFFD\"");                      // overlong
  EXPECT_EQ(as_json("\xE0\x80\x80"), "\"\uFFFD\uFFFD\uFFFD\"");            // overlong
  EXPECT_EQ(as_json("\xF0\x80\x80\x80"), "\"\uFFFD\uFFFD\uFFFD\uFFFD\"");  // overlong
  EXPECT_EQ(as_json("\xED\xA0\x80"), "\"\uFFFD\uFFFD\uFFFD\"");            // surrogate
  EXPECT_EQ(as_json("\xF4\x90\x80\x80"), "\"\uFFFD\uFFFD\uFFFD\uFFFD\"");  // beyond U+10FFFF
  EXPECT_EQ(as_json("漢\xE6\xBC"), "\"漢\uFFFD\uFFFD\"");                  // cut short
}

TEST(ErrorBody, openai_shape_has_null_for_what_is_not_known) {
  EXPECT_EQ(error_body(ApiShape::kOpenAi,
                       {.status = 404,
                        .type = "invalid_request_error",
                        .code = "model_not_found",
                        .param = "model",
                        .message = "no route serves \"x\""},
                       ""),
            R"({"error":{"message":"no route serves \"x\"","type":"invalid_request_error",)"
            R"("param":"model","code":"model_not_found"}})");
  EXPECT_EQ(
      error_body(ApiShape::kOpenAi,
                 {.status = 502, .type = "api_error", .code = "", .param = "", .message = "m"},
                 "req-1"),
      R"({"error":{"message":"m","type":"api_error","param":null,"code":null},)"
      R"("request_id":"req-1"})");
}

TEST(ErrorBody, anthropic_shape_takes_its_type_from_the_status) {
  const auto body = [](int status) {
    return error_body(ApiShape::kAnthropic,
                      {.status = status, .type = "x", .code = "y", .param = "", .message = "m"},
                      "r");
  };
  EXPECT_EQ(
      body(404),
      R"({"type":"error","error":{"type":"not_found_error","message":"m"},"request_id":"r"})");
  EXPECT_THAT(body(429), testing::HasSubstr("\"rate_limit_error\""));
  EXPECT_THAT(body(503), testing::HasSubstr("\"overloaded_error\""));
  EXPECT_THAT(body(502), testing::HasSubstr("\"api_error\""));
}

}  // namespace
}  // namespace rolter::openai
