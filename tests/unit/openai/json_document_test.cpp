#include "rolter/openai/json_document.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <string>
#include <vector>

#include "tests/unit/openai/padded_body.h"

namespace rolter::openai {
namespace {

bool is_json(std::string_view text) {
  const PaddedBody body(text);
  JsonDocument document;
  return !document.read(body.view()).has_value();
}

const std::vector<std::string>& good_texts() {
  static const std::vector<std::string> texts = {
      "{}",
      "[]",
      " { } ",
      "\"x\"",
      "\"\"",
      "0",
      "-0.5e+10",
      "true",
      "null",
      "NaN",
      "-Infinity",
      R"({"a":1,"b":[1,2,{"c":null}],"":{}})",
      R"(["\ud800","\udc00\ud800","\"","\\"])",
      "[1 ,\t2\r\n, 3]",
      R"({"a":"}","b":"]"})",
      "[[],[[]],{}]",
      "\"漢🙂\"",
  };
  return texts;
}

const std::vector<std::string>& bad_texts() {
  static const std::vector<std::string> texts = {
      "",
      "  ",
      "{",
      "}",
      "[",
      "]",
      "{]",
      "[}",
      "{}{}",
      "{} x",
      "1 2",
      "[1 2]",
      "[1,]",
      "[,1]",
      "[,]",
      "{,}",
      R"({"a"})",
      R"({"a":})",
      R"({"a":1,})",
      R"({"a":1 "b":2})",
      R"({"a" 1})",
      R"({1:2})",
      R"({"a"::1})",
      R"("a"x)",
      R"("a""b")",
      R"(x"a")",
      "\"a",
      "\"a\\\"",
      "\"a\nb\"",
      "tru",
      "truex",
      "True",
      "nul",
      "01",
      "1.",
      ".5",
      "+1",
      "1e",
      "--1",
      "-",
      "0x10",
      "\f1",
      "[\x1a]",
      "true\x1e",
      "[1\x0c]",
      "{\"a\":1\x01}",
      "\"a\"\x1f",
      std::string("\0", 1),
      "\"\xff\"",
      "\"\xed\xa0\x80\"",
      R"({"a":[{"b":1})",
  };
  return texts;
}

TEST(JsonDocument, accepts_json) {
  for (const auto& text : good_texts()) {
    EXPECT_TRUE(is_json(text)) << text;
  }
}

TEST(JsonDocument, refuses_what_is_not_json) {
  for (const auto& text : bad_texts()) {
    EXPECT_FALSE(is_json(text)) << text;
  }
}

TEST(JsonDocument, every_cut_of_an_object_is_refused) {
  const std::string text = R"( {"a": [1, "é\n", {"b": true}, []], "c": -1.5e3, "d": {}} )";
  for (std::size_t length = 0; length + 1 < text.size(); ++length) {
    EXPECT_FALSE(is_json(text.substr(0, length))) << text.substr(0, length);
  }
  EXPECT_TRUE(is_json(text));
}

TEST(JsonDocument, answers_are_the_same_on_every_instruction_set) {
  auto& active = simdjson::get_active_implementation();
  const simdjson::implementation* const before = active;
  for (const auto* implementation : simdjson::get_available_implementations()) {
    if (!implementation->supported_by_runtime_system()) {
      continue;
    }
    active = implementation;
    for (const auto& text : good_texts()) {
      EXPECT_TRUE(is_json(text)) << implementation->name() << ": " << text;
    }
    for (const auto& text : bad_texts()) {
      EXPECT_FALSE(is_json(text)) << implementation->name() << ": " << text;
    }
  }
  active = before;
}

TEST(JsonDocument, depth_is_limited_and_nothing_recurses) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(is_json(nested(JsonDocument::kMaxDepth)));
  EXPECT_FALSE(is_json(nested(JsonDocument::kMaxDepth + 1)));
  EXPECT_FALSE(is_json(nested(100'000)));
  EXPECT_FALSE(is_json(std::string(100'000, '[')));
  EXPECT_FALSE(is_json(std::string(100'000, '{')));
}

TEST(JsonDocument, a_fault_names_its_byte) {
  const PaddedBody body(R"({"a": tru})");
  JsonDocument document;
  const auto fault = document.read(body.view());
  ASSERT_TRUE(fault.has_value());
  EXPECT_EQ(fault->offset, 6);
}

TEST(JsonDocument, members_and_elements_come_in_order_without_their_spaces) {
  const PaddedBody body(R"({ "a" : [ 1 , "x" , { } , [ [ ] ] ] , "b" : null })");
  JsonDocument document;
  ASSERT_FALSE(document.read(body.view()).has_value());
  std::string seen;
  document.for_each_member(document.root(), [&](std::string_view key, JsonDocument::Token value) {
    seen += std::string(key) + "=";
    if (!document.is_array(value)) {
      seen += document.scalar(value);
      return;
    }
    document.for_each_element(value, [&](JsonDocument::Token element) {
      seen += document.is_object(element)  ? "{}"
              : document.is_array(element) ? "[]"
                                           : document.scalar(element);
      seen += ';';
    });
  });
  EXPECT_EQ(seen, R"(a=1;"x";{};[];b=null)");
}

TEST(JsonDocument, reading_again_after_a_large_text_gives_memory_back_and_works) {
  JsonDocument document;
  const PaddedBody large("[" + std::string(2'000'000, ' ') + "]");
  EXPECT_FALSE(document.read(large.view()).has_value());
  document.trim();
  const PaddedBody small("{}");
  EXPECT_FALSE(document.read(small.view()).has_value());
}

}  // namespace
}  // namespace rolter::openai
