#include "rolter/kvcache/common_prefix.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

namespace rolter::kvcache {
namespace {

TEST(CommonPrefix, finds_the_first_difference_wherever_it_is) {
  constexpr std::size_t kLength = 3'000;  // longer than two blocks, not a multiple of anything
  const std::string text(kLength, 'x');
  EXPECT_EQ(common_prefix(text.data(), text.data(), kLength), kLength);
  for (std::size_t at = 0; at < kLength; ++at) {
    std::string other = text;
    other[at] = '\xff';
    ASSERT_EQ(common_prefix(text.data(), other.data(), kLength), at);
    ASSERT_EQ(common_prefix(text.data(), other.data(), at), at);  // not a byte beyond the length
  }
}

TEST(CommonPrefix, of_nothing_is_nothing) {
  EXPECT_EQ(common_prefix("a", "a", 0), 0U);
}

}  // namespace
}  // namespace rolter::kvcache
