#include "rolter/simulator/tokenizer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "rolter/base/random.h"
#include "rolter/simulator/chat_template.h"

namespace rolter::simulator {
namespace {

/// Text of bytes, words and spaces in random order.
std::string random_text(Rng& rng) {
  std::string text;
  const std::size_t length = uniform_index(rng, 40);
  for (std::size_t i = 0; i < length; ++i) {
    switch (uniform_index(rng, 4)) {
      case 0:
        text.push_back(static_cast<char>(uniform_index(rng, 256)));
        break;
      case 1:
        text.push_back(' ');
        break;
      default:
        text.push_back(static_cast<char>('a' + uniform_index(rng, 26)));
    }
  }
  return text;
}

TEST(Tokenizer, any_bytes_survive_the_way_there_and_back) {
  Rng rng(1);
  for (int i = 0; i < 5000; ++i) {
    const std::string text = random_text(rng);
    const std::vector<TokenId> tokens = tokenize(text);
    ASSERT_EQ(detokenize(tokens), text);
    for (const TokenId token : tokens) {
      ASSERT_LT(token, kVocabularySize);
      ASSERT_GE(token, kFirstByteToken) << "text never becomes a token of the template";
    }
  }
}

TEST(Tokenizer, text_cut_at_a_token_border_keeps_its_tokens) {
  Rng rng(2);
  for (int i = 0; i < 2000; ++i) {
    std::vector<TokenId> tokens = tokenize(random_text(rng));
    tokens.resize(uniform_index(rng, tokens.size() + 1));
    ASSERT_EQ(tokenize(detokenize(tokens)), tokens);
  }
}

TEST(Tokenizer, a_spaced_word_of_three_letters_is_one_token) {
  EXPECT_EQ(tokenize(" abc def").size(), 2U);
  EXPECT_EQ(tokenize("hello world").size(), 4U);  // "hel" "lo" " wor" "ld"
  EXPECT_EQ(tokenize("A1!\n").size(), 4U);
}

TEST(Tokenizer, every_id_has_a_text_or_none) {
  std::string text;
  for (TokenId token = 0; token < kVocabularySize + 10; ++token) {
    text.clear();
    detokenize(token, text);
    ASSERT_LE(text.size(), 13U);
  }
}

TEST(ChatTemplate, a_conversation_one_turn_later_starts_with_the_same_tokens) {
  std::vector<Turn> turns = {{"system", "Be brief."}, {"user", "why is the sky blue?"}};
  const auto first = render_chat(turns, "", GenerationPrompt::kYes);
  const std::vector<TokenId> reply = tokenize(" because of scattering");
  turns.push_back({"assistant", " because of scattering"});
  turns.push_back({"user", "and red?"});
  const auto second = render_chat(turns, "", GenerationPrompt::kYes);

  std::vector<TokenId> served = first;
  served.insert(served.end(), reply.begin(), reply.end());
  served.push_back(kTurnEnd);
  ASSERT_GT(second.size(), served.size());
  EXPECT_TRUE(std::equal(served.begin(), served.end(), second.begin()));
}

TEST(ChatTemplate, tools_come_before_the_turns_and_separate_prompts) {
  const std::vector<Turn> turns = {{"user", "weather?"}};
  const auto plain = render_chat(turns, "", GenerationPrompt::kYes);
  const auto with_tools = render_chat(turns, R"([{"type":"function"}])", GenerationPrompt::kYes);
  EXPECT_EQ(detokenize(plain), "<|im_start|>user\nweather?<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(detokenize(with_tools).rfind("<|im_start|>tools\n[{", 0), 0U);
}

TEST(ChatTemplate, without_generation_prompt_the_last_turn_ends_the_prompt) {
  EXPECT_EQ(detokenize(render_chat({{"user", "x"}}, "", GenerationPrompt::kNo)),
            "<|im_start|>user\nx<|im_end|>\n");
}

}  // namespace
}  // namespace rolter::simulator
