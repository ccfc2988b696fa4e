#include "rolter/kvcache/prompt_ends.h"

#include <gtest/gtest.h>

#include <vector>

namespace rolter::kvcache {
namespace {

constexpr StreamId kStream{3};

std::vector<ChainKey> keys_for(const std::vector<TokenId>& tokens) {
  std::vector<ChainKey> keys;
  chain_keys(tokens, 1, {}, keys);
  return keys;
}

TEST(PromptEndsTest, a_continuation_counts_up_to_where_the_earlier_prompt_ended) {
  PromptEnds ends;
  ends.add(kStream, keys_for({1, 2}));
  ends.add(kStream, keys_for({1, 2, 3, 4}));
  const std::vector<ChainKey> longer = keys_for({1, 2, 3, 4, 5, 6});
  EXPECT_EQ(ends.last_end(kStream, longer, 6), 4U);
  EXPECT_EQ(ends.last_end(kStream, longer, 4), 4U);
  EXPECT_EQ(ends.last_end(kStream, longer, 3), 2U) << "the last block is no longer resident";
  EXPECT_EQ(ends.last_end(kStream, longer, 1), 0U);
}

TEST(PromptEndsTest, a_part_of_an_earlier_prompt_counts_nothing) {
  PromptEnds ends;
  ends.add(kStream, keys_for({1, 2, 3, 4}));
  EXPECT_EQ(ends.last_end(kStream, keys_for({1, 2, 3}), 3), 0U);
  EXPECT_EQ(ends.last_end(kStream, keys_for({1, 2, 9, 9}), 2), 0U);
}

TEST(PromptEndsTest, each_stream_has_its_own) {
  PromptEnds ends;
  ends.add(kStream, keys_for({1, 2}));
  EXPECT_EQ(ends.last_end(StreamId{2}, keys_for({1, 2}), 2), 0U);
}

TEST(PromptEndsTest, the_oldest_is_forgotten_first) {
  PromptEnds ends(2);
  for (TokenId prompt = 1; prompt <= 3; ++prompt) {
    ends.add(kStream, keys_for({prompt}));
  }
  EXPECT_EQ(ends.last_end(kStream, keys_for({1}), 1), 0U);
  EXPECT_EQ(ends.last_end(kStream, keys_for({2}), 1), 1U);
  EXPECT_EQ(ends.last_end(kStream, keys_for({3}), 1), 1U);
}

}  // namespace
}  // namespace rolter::kvcache
