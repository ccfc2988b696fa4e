#include "rolter/openai/multipart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "rolter/openai/model_splice.h"
#include "rolter/openai/request_view.h"
#include "tests/unit/openai/padded_body.h"

namespace rolter::openai {
namespace {

using testing::HasSubstr;

constexpr std::string_view kType = "multipart/form-data; boundary=----b0undary";

std::string part(const std::string& disposition, const std::string& value) {
  return "------b0undary\r\nContent-Disposition: form-data; " + disposition + "\r\n\r\n" + value +
         "\r\n";
}

const std::string kEnd = "------b0undary--\r\n";
const std::string kFile =
    "------b0undary\r\ncontent-type: audio/wav\r\nCONTENT-DISPOSITION: form-data; "
    "name=\"file\"; filename=\"a;name=\\\"model\\\".wav\"\r\n\r\n" +
    std::string("RIFF\r\n--\r\n------b0undar\r\n------b0undaryX\r\n\0\xff", 44) + "\r\n";

Result<RequestView> parse(RequestParser& parser, std::string_view body,
                          std::string_view type = kType) {
  return parser.parse(Endpoint::kAudio, type, body);
}

std::string error_of(std::string_view body, std::string_view type = kType) {
  RequestParser parser;
  const auto view = parse(parser, body, type);
  return view ? "" : view.error().message;
}

TEST(Multipart, model_is_found_before_and_after_the_file) {
  for (const std::string& body : {part("name=\"model\"", "whisper") + kFile + kEnd,
                                  kFile + part("name=\"model\"", "whisper") + kEnd}) {
    RequestParser parser;
    const auto view = parse(parser, body);
    ASSERT_TRUE(view.has_value()) << view.error().message;
    EXPECT_EQ(view->model, "whisper");
    EXPECT_FALSE(view->model_is_json);
    EXPECT_EQ(body.substr(view->model_token.offset, view->model_token.length), "whisper");
    EXPECT_FALSE(view->stream);
    EXPECT_EQ(view->prompt.text, "");
  }
}

TEST(Multipart, stream_is_read) {
  RequestParser parser;
  const std::string body = part("name=model", "w") + part("name=\"stream\"", "true") + kFile + kEnd;
  EXPECT_TRUE(parse(parser, body)->stream);
}

TEST(Multipart, boundary_may_be_quoted_and_follow_other_parameters) {
  const std::string body = part("name=\"model\"", "w") + kEnd;
  for (const char* type : {"multipart/form-data; boundary=\"----b0undary\"",
                           "Multipart/Form-Data;charset=\"a;boundary=x\";BOUNDARY=----b0undary",
                           "multipart/form-data ; boundary = ----b0undary ; x=y"}) {
    EXPECT_EQ(error_of(body, type), "") << type;
  }
}

TEST(Multipart, a_preamble_and_an_epilogue_are_passed_over) {
  EXPECT_EQ(error_of("ignore me\r\n" + part("name=\"model\"", "w") + kEnd + "and me"), "");
}

TEST(Multipart, every_cut_of_a_form_is_refused) {
  const std::string body = kFile + part("name=\"model\"", "w") + kEnd;
  for (std::size_t length = 0; length + 2 < body.size(); ++length) {
    EXPECT_NE(error_of(body.substr(0, length)), "") << length;
  }
}

TEST(Multipart, malformed_forms_name_what_is_wrong) {
  const std::string model = part("name=\"model\"", "w");
  EXPECT_THAT(error_of(model + kEnd, "multipart/form-data"), HasSubstr("no usable boundary"));
  EXPECT_THAT(error_of(model + kEnd, "multipart/form-data; boundary="),
              HasSubstr("no usable boundary"));
  EXPECT_THAT(error_of(model + kEnd, "multipart/form-data; boundary=other"),
              HasSubstr("does not occur"));
  EXPECT_THAT(error_of(model), HasSubstr("ends before its closing boundary"));
  EXPECT_THAT(error_of("------b0undary\r\nContent-Disposition: form-data"),
              HasSubstr("head does not end"));
  EXPECT_THAT(error_of(kFile + kEnd), HasSubstr("\"model\" field is missing"));
  EXPECT_THAT(error_of(part("name=\"model\"", "") + kEnd), HasSubstr("missing or empty"));
  EXPECT_THAT(error_of(model + model + kEnd), HasSubstr("two \"model\" fields"));
}

TEST(Multipart, speech_is_json) {
  RequestParser parser;
  const PaddedBody body(R"({"model":"tts","input":"hello","voice":"x"})");
  EXPECT_EQ(parser.parse(Endpoint::kAudio, "application/json", body.view())->model, "tts");
}

TEST(ModelSplice, json_names_are_written_as_json) {
  RequestParser parser;
  const PaddedBody body(R"({ "model" : "a" , "x":"\ud800"})");
  const auto view = parser.parse(Endpoint::kChatCompletions, "", body.view());
  ASSERT_TRUE(view.has_value());
  std::string written;
  const auto spliced = splice_model(body.view(), *view, "org/\"b\"", written);
  std::string sent;
  for (const auto piece : spliced.pieces) {
    sent += piece;
  }
  EXPECT_EQ(sent, R"({ "model" : "org/\"b\"" , "x":"\ud800"})");
  EXPECT_EQ(spliced.size(), sent.size());
}

TEST(ModelSplice, form_values_are_written_as_they_are) {
  const std::string body = part("name=\"model\"", "a") + kFile + kEnd;
  RequestParser parser;
  const auto view = parse(parser, body);
  ASSERT_TRUE(view.has_value());
  std::string written;
  std::string sent;
  for (const auto piece : splice_model(body, *view, "org/b", written).pieces) {
    sent += piece;
  }
  EXPECT_EQ(sent, part("name=\"model\"", "org/b") + kFile + kEnd);
}

TEST(ModelSplice, the_same_name_leaves_every_byte) {
  RequestParser parser;
  const PaddedBody body(R"({"model":"\u0061"})");
  const auto view = parser.parse(Endpoint::kChatCompletions, "", body.view());
  ASSERT_TRUE(view.has_value());
  std::string written;
  EXPECT_EQ(splice_model(body.view(), *view, "a", written).pieces[0].data(), body.view().data());
}

}  // namespace
}  // namespace rolter::openai
