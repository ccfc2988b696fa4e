#include "rolter/simulator/reply.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "rolter/simulator/tokenizer.h"

namespace rolter::simulator {
namespace {

ReplyRequest request(std::string_view echo, std::size_t max_tokens) {
  ReplyRequest request;
  request.echo = echo;
  request.max_tokens = max_tokens;
  return request;
}

TEST(Reply, digest_is_crc_32_in_letters) {
  // zlib.crc32(b"123456789") == 0xcbf43926
  EXPECT_EQ(digest_letters("123456789"), "mlpedjcg");
}

TEST(Reply, starts_with_the_digest_of_what_was_asked) {
  const Reply reply = make_reply(request("what is a prefix?", 40));
  EXPECT_EQ(detokenize(reply.tokens).substr(0, 9), digest_letters("what is a prefix?") + " ");
  const Reply three = make_reply(request("what is a prefix?", 3));
  EXPECT_EQ(detokenize(three.tokens), digest_letters("what is a prefix?"));
}

TEST(Reply, the_same_question_has_the_same_answer_and_another_seed_another_one) {
  const Reply first = make_reply(request("q", 50));
  EXPECT_EQ(first.tokens, make_reply(request("q", 50)).tokens);
  ReplyRequest seeded = request("q", 50);
  seeded.seed = 1;
  EXPECT_NE(first.tokens, make_reply(seeded).tokens);
}

TEST(Reply, ends_by_itself_or_at_the_limit) {
  std::set<FinishReason> seen;
  for (int i = 0; i < 200; ++i) {
    const Reply reply = make_reply(request("question " + std::to_string(i), 60));
    ASSERT_LE(reply.tokens.size(), 60U);
    ASSERT_EQ(reply.tokens.back() == kTurnEnd, reply.ends == FinishReason::kStop);
    ASSERT_TRUE(reply.ends == FinishReason::kStop || reply.tokens.size() == 60U);
    seen.insert(reply.ends);
  }
  EXPECT_EQ(seen.size(), 2U);
}

TEST(Reply, ignore_eos_speaks_to_the_limit_and_min_tokens_at_least_so_long) {
  ReplyRequest endless = request("q", 2000);
  endless.ignore_eos = true;
  EXPECT_EQ(make_reply(endless).tokens.size(), 2000U);
  ReplyRequest at_least = request("q", 2000);
  at_least.min_tokens = 300;
  EXPECT_EQ(make_reply(at_least).tokens.size(), 301U) << "300 and the end token";
  EXPECT_EQ(make_reply(request("q", 1)).tokens.size(), 1U);
}

}  // namespace
}  // namespace rolter::simulator
