#include <gtest/gtest.h>

#include <string>

#include "tests/unit/openai/answer_facts.h"

namespace rolter::openai {
namespace {

TEST(JsonObserver, ends_when_the_outermost_value_is_closed) {
  const auto ends = [](const std::string& bytes) {
    return observe(Framing::kJson, Endpoint::kChatCompletions, bytes).end;
  };
  EXPECT_TRUE(ends(R"({"a":{"b":"}"}} )"));
  EXPECT_FALSE(ends(R"({"a":{"b":"}"})"));
  EXPECT_FALSE(ends("<html>"));
  EXPECT_FALSE(ends(""));
}

TEST(JsonObserver, what_follows_the_end_is_passed_over) {
  const std::string bytes = R"({"choices":[]}{"usage":{"prompt_tokens":1}})";
  EXPECT_FALSE(observe(Framing::kJson, Endpoint::kChatCompletions, bytes).usage.has_value());
  expect_same_however_cut(Framing::kJson, Endpoint::kChatCompletions, bytes);
}

TEST(JsonObserver, control_characters_are_passed) {
  const std::string bytes("{\"a\":1,\0\x17 \"usage\":{\"prompt_tokens\":3\x01}}", 39);
  EXPECT_EQ(observe(Framing::kJson, Endpoint::kEmbeddings, bytes),
            (Facts{.content = true, .end = true, .usage = Usage{3, 0, std::nullopt}}));
  expect_same_however_cut(Framing::kJson, Endpoint::kEmbeddings, bytes);
}

TEST(JsonObserver, counts_that_cannot_be_are_not_believed) {
  const auto usage_of = [](const std::string& counts) {
    return observe(Framing::kJson, Endpoint::kChatCompletions, R"({"usage":{)" + counts + "}}")
        .usage;
  };
  EXPECT_FALSE(usage_of(R"("prompt_tokens":0,"prompt_tokens_details":{"cached_tokens":50000})"));
  EXPECT_EQ(usage_of(R"("prompt_tokens":18446744073709551615,"completion_tokens":2)"),
            (Usage{0, 2, std::nullopt}));
}

TEST(JsonObserver, usage_after_long_arrays_and_deep_values_is_found) {
  std::string numbers = "[";
  for (int i = 0; i < 50'000; ++i) {
    numbers += std::to_string(i) + ".5e-3, ";
  }
  const std::string bytes = R"({"data":[{"embedding":)" + numbers +
                            R"("x",{"y":[1]},2]}],"deep":)" + std::string(100, '[') +
                            R"({"usage":{"prompt_tokens":9}})" + std::string(100, ']') +
                            R"(,"usage":{"prompt_tokens":7,"total_tokens":7}})";
  EXPECT_EQ(observe(Framing::kJson, Endpoint::kEmbeddings, bytes),
            (Facts{.content = true, .end = true, .usage = Usage{7, 0, std::nullopt}}));
}

}  // namespace
}  // namespace rolter::openai
