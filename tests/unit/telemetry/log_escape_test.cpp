#include "rolter/telemetry/log_escape.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

namespace rolter::telemetry {
namespace {

std::string json(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

std::string text_value(std::string_view text) {
  std::string out;
  append_text_value(out, text);
  return out;
}

TEST(LogEscape, ordinary_text_stays_as_it_is) {
  EXPECT_EQ(json("llama-3/8b é 漢 🙂"), "\"llama-3/8b é 漢 🙂\"");
}

TEST(LogEscape, quotes_and_line_ends_cannot_leave_the_string) {
  EXPECT_EQ(json("a\"b\\c\r\n\td"), R"("a\"b\\c\r\n\td")");
}

TEST(LogEscape, control_characters_cannot_drive_a_terminal) {
  EXPECT_EQ(json(std::string_view{"\0\x1b[2J\x7f", 6}), R"("\u0000\u001b[2J\u007f")");
  EXPECT_EQ(json("\xc2\x9b"), R"("\u009b")") << "C1: CSI in one character";
  EXPECT_EQ(json("\xe2\x80\xa8"), R"("\u2028")");
}

TEST(LogEscape, what_is_not_utf8_is_replaced_byte_by_byte) {
  EXPECT_EQ(json("a\xff\x62"), R"("a\ufffdb")");
  EXPECT_EQ(json("\xc0\xaf"), R"("\ufffd\ufffd")") << "overlong slash";
  EXPECT_EQ(json("\xed\xa0\x80"), R"("\ufffd\ufffd\ufffd")") << "surrogate";
  EXPECT_EQ(json("\xf4\x90\x80\x80"), R"("\ufffd\ufffd\ufffd\ufffd")") << "past U+10FFFF";
  EXPECT_EQ(json("\xe6\xbc"), R"("\ufffd\ufffd")") << "cut in the middle";
}

TEST(LogEscape, long_text_is_cut_and_marked) {
  const std::string out = json(std::string(100'000, 'x'));
  EXPECT_EQ(out.size(), kMostFieldBytes + 5);
  EXPECT_TRUE(out.ends_with("x...\""));
}

TEST(LogEscape, a_text_value_is_bare_only_when_it_is_one_word) {
  EXPECT_EQ(text_value("a/llama-3"), "a/llama-3");
  EXPECT_EQ(text_value(""), R"("")");
  EXPECT_EQ(text_value("two words"), R"("two words")");
  EXPECT_EQ(text_value("x status=200"), R"("x status=200")");
  EXPECT_EQ(text_value("a=b"), R"("a=b")");
  EXPECT_EQ(text_value("a\nb"), R"("a\nb")");
}

TEST(LogEscape, whatever_the_bytes_the_result_is_one_printable_line) {
  std::mt19937_64 rng{3};
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes(rng() % 24, '\0');
    std::ranges::generate(bytes, [&] { return static_cast<char>(rng()); });
    const std::string out = json(bytes);
    EXPECT_TRUE(std::ranges::none_of(out, [](char c) { return (c >= 0 && c < 0x20) || c == 0x7f; }))
        << out;
    EXPECT_EQ(out.front(), '"');
    EXPECT_EQ(out.back(), '"');
  }
}

}  // namespace
}  // namespace rolter::telemetry
