#include "rolter/feeds/tokenize_answer.h"

#include <gtest/gtest.h>

namespace rolter::feeds {
namespace {

TEST(TokenizeAnswer, has_the_ids) {
  EXPECT_EQ(read_tokenize_answer(
                R"({"count":3,"max_model_len":2048,"tokens":[1,4294967295,0],"token_strs":null})")
                .value(),
            (std::vector<TokenId>{1, 4'294'967'295, 0}));
  EXPECT_TRUE(read_tokenize_answer(R"({"tokens":[]})").value().empty());
}

TEST(TokenizeAnswer, is_refused_when_it_is_something_else) {
  for (const char* body :
       {"", "{", "[1,2]", "null", "<html>", R"({"count":1})", R"({"tokens":null})",
        R"({"tokens":"1,2"})", R"({"tokens":[1,"2"]})", R"({"tokens":[-1]})", R"({"tokens":[1.5]})",
        R"({"tokens":[4294967296]})", R"({"tokens":[[1]]})"}) {
    const auto ids = read_tokenize_answer(body);
    ASSERT_FALSE(ids) << body;
    EXPECT_NE(ids.error().message.find("tokens"), std::string::npos) << ids.error().message;
  }
}

}  // namespace
}  // namespace rolter::feeds
