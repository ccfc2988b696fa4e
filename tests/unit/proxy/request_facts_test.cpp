#include "rolter/proxy/request_facts.h"

#include <gtest/gtest.h>

namespace rolter::proxy {
namespace {

RequestFacts sent_with(double matched) {
  RequestFacts facts;
  facts.sent = true;
  facts.decision.matched = matched;
  return facts;
}

TEST(PredictedCachedTokens, are_those_that_the_strategy_counted_and_no_more) {
  RequestFacts facts = sent_with(0.9);
  facts.decision.cached_tokens = 96;
  EXPECT_EQ(predicted_cached_tokens(facts), 96U);
  facts.usage = openai::Usage{.prompt_tokens = 110, .completion_tokens = 1, .cached_tokens = {}};
  EXPECT_EQ(predicted_cached_tokens(facts), 96U);
}

TEST(PredictedCachedTokens, are_else_the_matched_share_of_the_reported_prompt) {
  RequestFacts facts = sent_with(0.25);
  EXPECT_EQ(predicted_cached_tokens(facts), std::nullopt);
  facts.usage = openai::Usage{.prompt_tokens = 102, .completion_tokens = 1, .cached_tokens = {}};
  EXPECT_EQ(predicted_cached_tokens(facts), 25U);
}

TEST(PredictedCachedTokens, of_a_request_that_no_replica_got_are_unknown) {
  RequestFacts facts = sent_with(1.0);
  facts.decision.cached_tokens = 96;
  facts.sent = false;
  EXPECT_EQ(predicted_cached_tokens(facts), std::nullopt);
}

}  // namespace
}  // namespace rolter::proxy
