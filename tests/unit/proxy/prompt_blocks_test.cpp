#include "rolter/proxy/prompt_blocks.h"

#include <gtest/gtest.h>

#include <string>

namespace rolter::proxy {
namespace {

std::string blocks(const std::string& text, std::uint64_t seed = 1, std::uint64_t root = 7) {
  std::string out;
  append_prompt_blocks({.root = root, .text = text}, seed, out);
  return out;
}

TEST(PromptBlocks, there_is_one_for_each_2048_bytes_the_last_one_partial) {
  EXPECT_EQ(blocks("").size(), 0U);
  EXPECT_EQ(blocks("x").size(), 16U);
  EXPECT_EQ(blocks(std::string(2'048, 'x')).size(), 16U);
  EXPECT_EQ(blocks(std::string(2'049, 'x')).size(), 32U);
}

TEST(PromptBlocks, equal_beginnings_have_equal_digests_up_to_where_they_part) {
  const std::string shared(4'096, 's');
  const std::string a = blocks(shared + std::string(3'000, 'a'));
  const std::string b = blocks(shared + std::string(3'000, 'b'));
  EXPECT_EQ(a.substr(0, 32), b.substr(0, 32));
  EXPECT_NE(a.substr(32, 16), b.substr(32, 16));
  EXPECT_NE(a.substr(0, 16), a.substr(16, 16)) << "each stands for what is before it too";
}

TEST(PromptBlocks, another_seed_or_root_shares_nothing) {
  EXPECT_NE(blocks("x"), blocks("x", 2));
  EXPECT_NE(blocks("x"), blocks("x", 1, 8));
}

}  // namespace
}  // namespace rolter::proxy
