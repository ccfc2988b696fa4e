// Answers count as held by the replica that gave them.
#include <gtest/gtest.h>

#include <string>

#include "tests/fakes/faulty_replica.h"
#include "tests/integration/balance/gateway_fixture.h"

namespace rolter::runtime {
namespace {

using config::StrategyKind;
using fakes::FaultyReplica;
using fakes::RawAnswer;

class RepliesTest : public GatewayTest {
 protected:
  void start_with(StrategyKind strategy, bool record_replies) {
    config::Config config = base_config();
    config::Route& route = add_route(config, "m");
    route.strategy = strategy;
    route.record_replies = record_replies;
    add_target(config, "first", first_.port());
    add_target(config, "second", second_.port());
    start(config);
  }

  RawAnswer chat(const std::string& messages, bool streamed) {
    return post("/v1/chat/completions", R"({"model":"m","stream":)" +
                                            std::string(streamed ? "true" : "false") +
                                            R"(,"messages":[)" + messages + "]}");
  }

  /// Of 20 conversations with a question of a word, how many come back to the replica that has
  /// answered it with five letters.
  int returned(bool streamed) {
    int count = 0;
    for (int i = 0; i < 20; ++i) {
      const std::string question =
          R"({"role":"user","content":")" + std::string(1, static_cast<char>('a' + i)) + R"("})";
      const RawAnswer first = chat(question, streamed);
      const RawAnswer second = chat(
          question + R"(,{"role":"assistant","content":"hello"},{"role":"user","content":"b"})",
          streamed);
      EXPECT_EQ(second.status, 200);
      count += first.field("x-rolter-provider") == second.field("x-rolter-provider") ? 1 : 0;
    }
    expect_no_load();
    return count;
  }

  FaultyReplica first_;
  FaultyReplica second_;
};

TEST_F(RepliesTest, a_short_question_with_a_longer_answer_keeps_its_replica) {
  start_with(StrategyKind::kCacheAware, true);
  EXPECT_EQ(returned(false), 20);
}

TEST_F(RepliesTest, so_does_one_whose_answer_was_streamed) {
  start_with(StrategyKind::kCacheAware, true);
  EXPECT_EQ(returned(true), 20);
}

TEST_F(RepliesTest, without_it_the_next_turn_looks_like_a_new_prompt) {
  start_with(StrategyKind::kCacheAware, false);
  EXPECT_LT(returned(false), 20) << "half of them return by chance";
}

TEST_F(RepliesTest, predicted_ttft_remembers_them_too) {
  start_with(StrategyKind::kPredictedTtft, true);
  // A time of the machine's own may outweigh a prompt of a few letters now and then; by chance as
  // many return once in five thousand runs.
  EXPECT_GE(returned(true), 18);
}

}  // namespace
}  // namespace rolter::runtime
