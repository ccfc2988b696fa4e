#include "rolter/kvcache/token_ids_header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace rolter::kvcache {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<TokenId> ids_of(std::string_view value) {
  std::vector<TokenId> ids{99};
  EXPECT_TRUE(parse_token_ids(value, ids).has_value()) << value;
  return ids;
}

TEST(TokenIdsHeader, reads_ids_with_commas_between_and_blanks_around) {
  EXPECT_THAT(ids_of("1,2,3"), ElementsAre(1, 2, 3));
  EXPECT_THAT(ids_of(" 1 ,\t2,  3\t"), ElementsAre(1, 2, 3));
  EXPECT_THAT(ids_of("0"), ElementsAre(0));
  EXPECT_THAT(ids_of("4294967295, 007"), ElementsAre(4294967295U, 7));
}

TEST(TokenIdsHeader, refuses_everything_else_and_leaves_nothing) {
  for (const char* bad : {"",
                          " ",
                          ",",
                          "1,",
                          ",1",
                          "1,,2",
                          "1, ,2",
                          "-1",
                          "+1",
                          "1 2",
                          "1;2",
                          "a",
                          "1,a",
                          "0x10",
                          "1.0",
                          "1e3",
                          "4294967296",
                          "99999999999999999999",
                          "[1]",
                          "1\n,2",
                          "1,\xc2\xa0"
                          "2"}) {
    std::vector<TokenId> ids{99};
    const auto result = parse_token_ids(bad, ids);
    ASSERT_FALSE(result.has_value()) << bad;
    EXPECT_EQ(result.error().source, ErrorSource::kClient);
    EXPECT_THAT(ids, IsEmpty()) << bad;
  }
}

TEST(TokenIdsHeader, says_where_the_fault_is) {
  std::vector<TokenId> ids;
  EXPECT_EQ(parse_token_ids("12, x", ids).error().message,
            "token ids: no decimal id below 2^32 at byte 4");
}

TEST(TokenIdsHeader, reads_a_million_ids_and_not_one_more) {
  std::string value;
  for (std::size_t i = 0; i < kMaxTokenIds; ++i) {
    value += i == 0 ? "128000" : ",128000";
  }
  std::vector<TokenId> ids;
  ASSERT_TRUE(parse_token_ids(value, ids).has_value());
  EXPECT_EQ(ids.size(), kMaxTokenIds);
  value += ",1";
  EXPECT_EQ(parse_token_ids(value, ids).error().kind, ErrorKind::kLimitExceeded);
}

}  // namespace
}  // namespace rolter::kvcache
