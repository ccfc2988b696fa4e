// Which blocks a text is known to begin with, case by case.
#include "rolter/kvcache/learned_chains.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "tests/unit/kvcache/learned_chains_fixture.h"

namespace rolter::kvcache {
namespace {

using namespace std::chrono_literals;

TEST_F(LearnedChainsTest, a_prompt_that_comes_again_has_the_blocks_that_it_had) {
  Talk talk{{kUser, words(1, 400)}};  // 2 + 100 + 2 tokens
  EXPECT_EQ(known(talk), 0U);
  serve(talk, "");
  EXPECT_EQ(known(talk), 26U);
  EXPECT_EQ(known({{kUser, words(2, 400)}}), 0U);
}

TEST_F(LearnedChainsTest, the_next_turn_has_the_blocks_of_the_prompt_before_it_reported_or_not) {
  for (const Usage usage : {Usage::kReported, Usage::kSilent}) {
    Talk talk{{kUser, words(usage == Usage::kReported ? 3 : 4, 200)}};  // 54 tokens
    serve(talk, "", usage);
    talk.push_back({kAssistant, "what was not the reply at all"});
    talk.push_back({kUser, "and then"});
    EXPECT_EQ(known(talk), 13U);
  }
}

TEST_F(LearnedChainsTest, a_replys_blocks_count_once_some_have_come_back) {
  for (std::size_t i = 0; i < 5; ++i) {
    Talk talk{{kUser, words(10 + i, 200)}};  // 54 tokens: 13 blocks
    serve(talk, words(20 + i, 120));         // 84 with the reply: 21 blocks
    talk.push_back({kUser, words(30 + i, 40)});
    EXPECT_EQ(known(talk), i < 2 ? 13U : 21U) << i;
    serve(talk, words(40 + i, 40), Usage::kReported, 21);
  }
}

TEST_F(LearnedChainsTest, a_reply_that_the_template_drops_does_not_count) {
  drops_replies_ = true;
  for (std::size_t i = 0; i < 8; ++i) {
    Talk talk{{kUser, words(10 + i, 200)}};
    serve(talk, words(20 + i, 120));
    talk.push_back({kUser, words(30 + i, 40)});
    EXPECT_LE(known(talk), 13U);
    serve(talk, "", Usage::kReported, 13);
  }
}

TEST_F(LearnedChainsTest, a_reply_written_anew_counts_for_the_other_prompts_that_go_on_from_it) {
  rewrites_replies_ = true;
  Talk talk{{kUser, words(10, 200)}};  // 54 tokens: 13 blocks
  serve(talk, words(20, 120));         // 84 with the reply
  Talk other = talk;
  talk.push_back({kUser, words(30, 40)});
  EXPECT_EQ(known(talk), 13U);
  serve(talk, "", Usage::kReported, 13);
  other.push_back({kUser, words(31, 40)});
  EXPECT_GE(known(other), 18U);  // 21 in truth
  serve(other, "", Usage::kReported, 21);
  other.back().text = words(32, 40);
  EXPECT_EQ(known(other), 21U);  // now that two have parted there
}

TEST_F(LearnedChainsTest, where_two_texts_part_the_blocks_in_which_their_chains_part_are_known) {
  const std::string rules = words(50, 330);
  for (std::size_t i = 0; i < 3; ++i) {
    Talk talk{{kUser, rules}, {kUser, words(60 + i, 100)}};
    const std::size_t before = known(talk);
    EXPECT_LE(before, 21U);
    EXPECT_GE(before, i == 0 ? 0U : i == 1 ? 19U : 21U) << i;
    serve(talk, "");
  }
}

TEST_F(LearnedChainsTest, within_a_turn_it_interpolates_and_rounds_down) {
  const std::string text = words(70, 1000);
  Talk talk{{kUser, text}};
  serve(talk, "");
  const std::size_t blocks = known({{kUser, text.substr(0, 700) + words(71, 300)}});
  EXPECT_LE(blocks, (2U + 175U) / kTokensPerBlock);
  EXPECT_GE(blocks, (2U + 175U) * 8 / 10 / kTokensPerBlock);
}

TEST_F(LearnedChainsTest, untagged_events_teach_nothing) {
  const Talk talk{{kUser, words(1, 400)}};
  (void)begin(marks_of(talk));
  store(tokens_of(talk), 0, 26, "");
  EXPECT_EQ(known(talk), 0U);
}

TEST_F(LearnedChainsTest, a_prompt_given_up_teaches_what_was_computed_and_the_retry_the_rest) {
  const Talk talk{{kUser, words(1, 400)}};
  const auto given_up = begin(marks_of(talk));
  store(tokens_of(talk), 0, 10, id(given_up.tag));
  (void)residency_.learned.ended(given_up.ticket, TimePoint{});
  EXPECT_EQ(known(talk), 10U);
  const auto retry = begin(marks_of(talk));
  store(tokens_of(talk), 10, 26, id(retry.tag));
  EXPECT_EQ(known(talk), 26U);
}

TEST_F(LearnedChainsTest, events_after_the_end_teach_for_a_while) {
  const Talk talk{{kUser, words(1, 400)}};
  const Talk other{{kUser, words(2, 400)}};
  const auto late = begin(marks_of(talk));
  const auto too_late = begin(marks_of(other));
  (void)residency_.learned.ended(late.ticket, now_);
  (void)residency_.learned.ended(too_late.ticket, now_);
  store(tokens_of(talk), 0, 26, id(late.tag));
  EXPECT_EQ(known(talk), 26U);
  now_ += LearnedChains::kAfterAnswer;
  (void)begin(marks_of({{kUser, "x"}}));  // time passes when something happens
  store(tokens_of(other), 0, 26, id(too_late.tag));
  EXPECT_EQ(known(other), 0U);
}

TEST_F(LearnedChainsTest, a_prefill_in_chunks_is_one_prompt) {
  const Talk talk{{kUser, words(1, 400)}};
  const auto begun = begin(marks_of(talk));
  store(tokens_of(talk), 0, 8, id(begun.tag));
  store(tokens_of(talk), 8, 16, id(begun.tag));
  store(tokens_of(talk), 16, 26, id(begun.tag));
  EXPECT_EQ(known(talk), 26U);
}

TEST_F(LearnedChainsTest, of_several_replies_none_is_learned) {
  const Talk talk{{kUser, words(1, 200)}};  // 54 tokens
  const std::vector<TokenId> tokens = tokens_of(talk);
  const auto begun = begin(marks_of(talk), 0, "", false);
  store(tokens, 0, 13, id(begun.tag));
  for (const TokenId sibling : {5U, 6U}) {
    std::vector<TokenId> all = tokens;
    all.resize(80, sibling);
    for (std::size_t i = 13; i < 20; ++i) {
      store(all, i, i + 1, id(begun.tag));
    }
  }
  residency_.learned.reported(begun.ticket, 54, {});
  EXPECT_EQ(known(talk), 13U);
  EXPECT_EQ(residency_.learned.stats().tree.blocks, 13U);
}

TEST_F(LearnedChainsTest, interleaved_requests_are_told_apart) {
  const Talk a{{kUser, words(1, 400)}};
  const Talk b{{kUser, words(2, 400)}};
  const auto first = begin(marks_of(a));
  const auto second = begin(marks_of(b));
  EXPECT_NE(first.tag, second.tag);
  store(tokens_of(a), 0, 8, id(first.tag));
  store(tokens_of(b), 0, 13, id(second.tag));
  store(tokens_of(a), 8, 26, id(first.tag));
  store(tokens_of(b), 13, 26, id(second.tag));
  EXPECT_EQ(known(a), 26U);
  EXPECT_EQ(known(b), 26U);
}

TEST_F(LearnedChainsTest, events_replayed_from_before_teach_nothing) {
  const Talk talk{{kUser, words(1, 400)}};
  store(tokens_of(talk), 0, 26, "0123456789abcdef");
  EXPECT_EQ(known(talk), 0U);
  // Blocks that came unasked still give the parents of those that follow.
  Talk next = talk;
  next.push_back({kUser, words(2, 100)});  // 131 tokens
  const auto begun = begin(marks_of(next));
  store(tokens_of(next), 25, 32, id(begun.tag));
  EXPECT_EQ(known(next), 32U);
}

TEST_F(LearnedChainsTest, a_replica_with_other_hashes_has_the_same_chain) {
  const Talk talk{{kUser, words(1, 400)}};
  const auto begun = begin(marks_of(talk), 1);
  store(tokens_of(talk), 0, 26, id(begun.tag), 1, 0xabcdef);
  EXPECT_EQ(known(talk), 26U);
}

TEST_F(LearnedChainsTest, what_was_learned_outlives_a_restart_of_the_engine) {
  Talk talk{{kUser, words(1, 400)}};
  serve(talk, "");
  residency_.index.forget(streams_[0], BlockIndex::Forget::kBlocksAndEngine);
  EXPECT_EQ(known(talk), 26U) << "it is residency that is gone";
}

TEST_F(LearnedChainsTest, salt_adapter_and_block_size_keep_equal_texts_apart) {
  const Talk talk{{kUser, words(1, 400)}};
  const auto begun = begin(marks_of(talk));
  store(tokens_of(talk), 0, 26, id(begun.tag));
  std::vector<ChainKey> chain;
  (void)residency_.learned.find(prompt(marks_of(talk, 2)), chain);
  EXPECT_TRUE(chain.empty()) << "the salt is part of the root";
  EXPECT_NE(marks_seed(1, "m", 4), marks_seed(1, "adapter", 4));
  EXPECT_NE(marks_seed(1, "m", 4), marks_seed(1, "m", 8));
}

}  // namespace
}  // namespace rolter::kvcache
