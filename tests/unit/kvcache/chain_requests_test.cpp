// Session ids, trust, memory and the file of what is learned of chains.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "tests/unit/kvcache/learned_chains_fixture.h"

namespace rolter::kvcache {
namespace {

using namespace std::chrono_literals;

TEST_F(LearnedChainsTest, a_conversation_keeps_its_tag_while_no_other_request_has_it) {
  Talk talk{{kUser, words(1, 200)}};
  const SessionTag tag = serve(talk, words(2, 40));
  talk.push_back({kUser, "and then"});
  const auto next = begin(marks_of(talk));
  EXPECT_EQ(next.tag, tag);
  EXPECT_NE(begin(marks_of(talk)).tag, tag) << "it is in flight there";
  EXPECT_EQ(begin(marks_of(talk), 1).tag, tag) << "but not on the other target";
}

TEST_F(LearnedChainsTest, a_callers_own_id_teaches_while_it_is_the_only_one) {
  const Talk a{{kUser, words(1, 400)}};
  const Talk b{{kUser, words(2, 400)}};
  const auto alone = begin(marks_of(a), 0, "mine");
  EXPECT_EQ(alone.tag, SessionTag::kNone) << "it is forwarded as it is";
  store(tokens_of(a), 0, 10, "mine");
  const auto second = begin(marks_of(b), 0, "mine");
  store(tokens_of(b), 0, 26, "mine");
  EXPECT_EQ(known(a), 10U);
  EXPECT_EQ(known(b), 0U) << "it might be either's";
  EXPECT_EQ(residency_.learned.stats().ambiguous, 1U);
  (void)residency_.learned.ended(alone.ticket, now_);
  (void)residency_.learned.ended(second.ticket, now_);
  now_ += 2 * LearnedChains::kAfterAnswer;
  (void)begin(marks_of(b), 0, "mine");
  store(tokens_of(b), 0, 26, "mine");
  EXPECT_EQ(known(b), 26U);
}

TEST_F(LearnedChainsTest, history_that_a_template_rewrites_ends_the_trust_until_it_proves_itself) {
  // Every prompt but the first of a talk is made of other tokens than its text's beginning was.
  const auto talk_on = [this](std::size_t seed, bool rewrites) {
    Talk talk{{kUser, words(seed, 200)}};
    serve(talk, "");
    talk.push_back({kAssistant, "ok"});
    talk.push_back({kUser, words(seed + 1, 200)});
    const std::vector<PromptMark> marks = marks_of(talk);
    std::vector<TokenId> tokens = tokens_of(talk);
    if (rewrites) {
      tokens[1] = 999;
    }
    const auto begun = begin(marks);
    store(tokens, 0, tokens.size() / kTokensPerBlock, id(begun.tag));
    (void)residency_.learned.ended(begun.ticket, now_);
  };
  for (std::size_t i = 0; i < 40; ++i) {
    talk_on(1000 + 10 * i, true);
  }
  EXPECT_EQ(residency_.learned.stats().distrusted, 1U);
  Talk talk{{kUser, words(5000, 200)}};
  serve(talk, "");
  EXPECT_EQ(known(talk), 0U) << "no credit";
  for (std::size_t i = 0; i < 100; ++i) {
    talk_on(6000 + 10 * i, false);
  }
  EXPECT_EQ(residency_.learned.stats().distrusted, 0U);
  EXPECT_EQ(known(talk), 13U);
}

TEST_F(LearnedChainsTest, predictions_that_the_engine_denies_end_the_trust) {
  for (std::size_t i = 0; i < 40; ++i) {
    const auto marks = marks_of({{kUser, words(i, 100)}});
    const auto begun = residency_.learned.begin(
        {.prompt = prompt(marks), .replica = ReplicaSlot{0}, .predicted_tokens = 100}, now_);
    residency_.learned.reported(begun.ticket, 120, 40);
  }
  EXPECT_EQ(residency_.learned.stats().distrusted, 1U);
}

TEST_F(LearnedChainsTest, memory_is_bounded_and_the_oldest_talk_goes_first) {
  residency_.learned.set_max_bytes(200'000);
  Talk oldest{{kUser, words(1, 400)}};
  serve(oldest, "");
  for (std::size_t i = 0; i < 1'000; ++i) {
    Talk talk{{kUser, words(10 + i, 400)}};
    serve(talk, words(i, 40));
    EXPECT_LE(residency_.learned.stats().tree.bytes, 200'000U);
  }
  EXPECT_EQ(known(oldest), 0U);
  EXPECT_EQ(known({{kUser, words(1'009, 400)}}), 26U);
  EXPECT_GT(residency_.learned.stats().tree.evicted, 500U);
}

TEST_F(LearnedChainsTest, a_tokenizer_teaches_without_events) {
  const Talk talk{{kUser, words(1, 400)}};
  const std::vector<TokenId> tokens = tokens_of(talk);
  std::vector<ChainKey> chain;
  chain_keys(tokens, kTokensPerBlock, {}, chain);
  residency_.learned.learn(prompt(marks_of(talk)), chain,
                           static_cast<std::uint32_t>(tokens.size()));
  EXPECT_EQ(known(talk), 26U);
}

TEST_F(LearnedChainsTest, what_was_saved_is_known_to_the_next_process) {
  const std::string rules = words(50, 330);
  std::vector<Talk> talks;
  for (std::size_t i = 0; i < 50; ++i) {
    Talk talk{{kUser, rules}, {kUser, words(60 + i, 100)}};
    serve(talk, words(100 + i, 80));
    talk.push_back({kUser, words(200 + i, 40)});
    serve(talk, "");
    talks.push_back(talk);
  }
  std::string bytes;
  ChainTree::NodeIndex cursor = 0;
  while (residency_.learned.save(cursor, bytes)) {
  }
  const LearnedChains::Stats before = residency_.learned.stats();
  LearnedChains next;
  ASSERT_TRUE(next.load(bytes));
  EXPECT_EQ(next.stats().tree.prompts, before.tree.prompts);
  EXPECT_EQ(next.stats().tree.blocks, before.tree.blocks);
  EXPECT_EQ(next.stats().tree.bytes, before.tree.bytes);
  for (const Talk& talk : talks) {
    const auto marks = marks_of(talk);
    std::vector<ChainKey> here;
    std::vector<ChainKey> there;
    (void)residency_.learned.find(prompt(marks), here);
    (void)next.find(prompt(marks), there);
    EXPECT_EQ(here, there);
    EXPECT_GT(there.size(), 20U);
  }
}

TEST_F(LearnedChainsTest, a_file_that_is_cut_or_garbled_does_no_harm) {
  for (std::size_t i = 0; i < 5; ++i) {
    Talk talk{{kUser, words(1, 200)}, {kUser, words(60 + i, 100)}};
    serve(talk, words(i, 50));
  }
  std::string bytes;
  ChainTree::NodeIndex cursor = 0;
  (void)residency_.learned.save(cursor, bytes);
  for (std::size_t length = 0; length < bytes.size(); length += 13) {
    LearnedChains cut;
    (void)cut.load(bytes.substr(0, length));
    std::string garbled = bytes;
    garbled[length] = static_cast<char>(~garbled[length]);
    LearnedChains odd;
    (void)odd.load(garbled);
    std::vector<ChainKey> chain;
    (void)odd.find(prompt(marks_of({{kUser, words(1, 200)}, {kUser, words(61, 100)}})), chain);
  }
}

}  // namespace
}  // namespace rolter::kvcache
