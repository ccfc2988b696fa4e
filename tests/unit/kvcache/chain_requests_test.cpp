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

TEST_F(LearnedChainsTest, a_prompt_that_is_known_as_a_whole_is_not_learned_again) {
  const Talk question{{kUser, words(1, 400)}};
  Talk talk = question;
  const SessionTag tag = serve(talk, words(2, 40));
  now_ += 2 * LearnedChains::kAfterAnswer;
  const auto again = begin(marks_of(question), 1);
  EXPECT_EQ(again.tag, tag) << "it goes on with the conversation";
  EXPECT_NE(begin(marks_of(question), 1).tag, tag) << "which nobody else does meanwhile";
  store(tokens_of(question), 0, 26, id(again.tag), 1);
  EXPECT_EQ(residency_.learned.stats().learned, 1U);
  EXPECT_EQ(residency_.learned.stats().under_way, 2U);
  (void)residency_.learned.ended(again.ticket, now_);
  EXPECT_EQ(residency_.learned.stats().under_way, 1U) << "no event is waited for";
  EXPECT_EQ(begin(marks_of(question), 1).tag, tag);
  EXPECT_EQ(known(question), 26U);
}

TEST_F(LearnedChainsTest, a_prompt_of_which_no_engine_has_said_how_long_it_is_may_be_longer) {
  Talk talk{{kUser, words(1, 400)}};
  const Talk question = talk;
  serve(talk, words(2, 40), Usage::kSilent);
  const auto again = begin(marks_of(question), 1);
  store(tokens_of(question), 0, 26, id(again.tag), 1);
  EXPECT_EQ(residency_.learned.stats().learned, 2U);
}

TEST_F(LearnedChainsTest, the_ends_of_a_prompt_that_is_known_are_told_where_they_count) {
  Talk talk{{kUser, words(1, 400)}};
  const Talk question = talk;
  serve(talk, words(2, 40));
  const std::vector<PromptMark> marks = marks_of(question);
  const auto again = residency_.learned.begin(
      {.prompt = prompt(marks), .replica = ReplicaSlot{1}, .wants_ends = true}, now_);
  store(tokens_of(question), 0, 26, id(again.tag), 1);
  EXPECT_EQ(residency_.learned.stats().learned, 2U);
}

TEST_F(LearnedChainsTest, what_was_looked_up_before_saves_a_search_and_no_more) {
  Talk talk{{kUser, words(1, 200)}};
  const std::vector<PromptMark> early = marks_of({{kUser, words(1, 400)}});
  std::vector<ChainKey> chain;
  const LearnedChains::Known nothing = residency_.learned.find(prompt(early), chain);
  EXPECT_TRUE(chain.empty());
  serve(talk, "");
  // Meanwhile its beginning has become known.
  LearnedChains::Prompt asked = prompt(early);
  asked.place = nothing.place;
  const auto begun = residency_.learned.begin({.prompt = asked, .replica = ReplicaSlot{0}}, now_);
  store(tokens_of({{kUser, words(1, 400)}}), 0, 26, id(begun.tag));
  EXPECT_EQ(known({{kUser, words(1, 400)}}), 26U);
  EXPECT_EQ(residency_.learned.stats().tree.prompts, 2U);
  EXPECT_EQ(residency_.learned.stats().tree.blocks, 26U) << "it goes on from the beginning's";
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

/// An engine that names no session, and a tokenizer.
class TokenizedChainsTest : public LearnedChainsTest {
 protected:
  std::vector<TokenId> with_reply(const Talk& talk, const std::string& reply) const {
    std::vector<TokenId> tokens = tokens_of(talk);
    for (std::size_t i = 0; i < reply.size(); i += 4) {
      tokens.push_back(static_cast<TokenId>(std::hash<std::string>{}(reply.substr(i, 4)) | 256));
    }
    return tokens;
  }
  void store_unnamed(const Talk& talk, const std::string& reply, std::size_t first = 0) {
    const std::vector<TokenId> all = with_reply(talk, reply);
    const std::size_t prompt = tokens_of(talk).size() / kTokensPerBlock;
    if (prompt > first) {
      store(all, first, prompt, "");
    }
    for (std::size_t i = prompt; i < all.size() / kTokensPerBlock; ++i) {
      store(all, i, i + 1, "");
    }
  }
  bool tokenize(LearnedChains::Ticket ticket, const Talk& talk) {
    const std::vector<TokenId> tokens = tokens_of(talk);
    std::vector<ChainKey> chain;
    chain_keys(tokens, kTokensPerBlock, {}, chain);
    return residency_.learned.tokenized(ticket, chain, static_cast<std::uint32_t>(tokens.size()));
  }
  void end(LearnedChains::Ticket ticket, Talk& talk, const std::string& reply) {
    residency_.learned.replied(ticket, std::string(1, kAssistant) + reply);
    (void)residency_.learned.ended(ticket, now_);
    now_ += std::chrono::seconds(1);
    talk.push_back({kAssistant, reply});
  }
  /// The engine has been seen not to name sessions.
  void prove() {
    const auto begun = begin(marks_of({{kUser, "x"}}));
    for (std::size_t i = 0; i < UnnamedStores::kProof; ++i) {
      store_unnamed({{kUser, words(9'000 + i, 60)}}, "");
    }
    (void)residency_.learned.ended(begun.ticket, now_);
  }
};

TEST_F(TokenizedChainsTest, tokens_are_wanted_where_an_engine_names_no_session) {
  EXPECT_FALSE(begin(marks_of({{kUser, words(1, 400)}})).wants_tokens) << "nothing is known of it";
  prove();
  EXPECT_TRUE(begin(marks_of({{kUser, words(2, 400)}})).wants_tokens);
  EXPECT_FALSE(begin(marks_of({{kUser, words(2, 400)}}), 1).wants_tokens) << "the other engine";
  EXPECT_TRUE(begin(marks_of({{kUser, "hi"}})).wants_tokens) << "its reply will fill blocks";
  Talk named{{kUser, words(3, 100)}};
  serve(named, "");
  EXPECT_FALSE(begin(marks_of({{kUser, words(4, 400)}})).wants_tokens) << "it does name them";
}

TEST_F(TokenizedChainsTest, a_tokenizer_teaches_the_prompt_and_unnamed_blocks_the_reply) {
  prove();
  for (const bool tokenizer_is_late : {false, true}) {
    Talk talk{{kUser, words(tokenizer_is_late ? 1 : 2, 400)}};
    std::size_t cached = 0;  // blocks that the engine has of the talk
    for (std::size_t turn = 0; turn < 6; ++turn) {
      const auto begun = begin(marks_of(talk));
      EXPECT_TRUE(begun.wants_tokens);
      const std::string reply = words(100 + turn, 160);
      if (tokenizer_is_late) {
        store_unnamed(talk, reply, cached);
      }
      EXPECT_TRUE(tokenize(begun.ticket, talk));
      if (!tokenizer_is_late) {
        store_unnamed(talk, reply, cached);
      }
      const std::size_t all = with_reply(talk, reply).size() / kTokensPerBlock;
      cached = all;
      end(begun.ticket, talk, reply);
      talk.push_back({kUser, words(200 + turn, 40)});
      // Once replies have been seen to come back, they count as well.
      EXPECT_GE(known(talk) + 1, turn < 2 ? 26 : all) << "turn " << turn;
    }
  }
  EXPECT_EQ(residency_.learned.stats().tokenized, 12U);
}

TEST_F(TokenizedChainsTest, a_tokenizer_that_comes_too_late_or_twice_teaches_nothing) {
  prove();
  Talk talk{{kUser, words(1, 400)}};
  const auto begun = begin(marks_of(talk));
  EXPECT_TRUE(tokenize(begun.ticket, talk));
  EXPECT_FALSE(tokenize(begun.ticket, talk));
  const auto other = begin(marks_of({{kUser, words(2, 400)}}));
  (void)residency_.learned.ended(other.ticket, now_);
  now_ += LearnedChains::kAfterAnswer + std::chrono::seconds(1);
  (void)begin(marks_of({{kUser, "x"}}));
  EXPECT_FALSE(tokenize(other.ticket, {{kUser, words(2, 400)}}));
}

TEST_F(TokenizedChainsTest, of_two_equal_prompts_neither_takes_the_others_reply) {
  prove();
  Talk talk{{kUser, words(1, 400)}};
  const auto marks = marks_of(talk);
  const auto first = begin(marks, 0, "one");
  const auto second = begin(marks, 0, "two");
  EXPECT_TRUE(tokenize(first.ticket, talk));
  EXPECT_TRUE(tokenize(second.ticket, talk));
  store_unnamed(talk, words(7, 160), 26);
  store_unnamed(talk, words(8, 160), 26);
  Talk continued = talk;
  end(first.ticket, continued, words(7, 160));
  continued.push_back({kUser, words(9, 40)});
  EXPECT_LE(known(continued), 26U);
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
  const std::string_view piece = bytes;
  const LearnedChains::Stats before = residency_.learned.stats();
  LearnedChains next;
  ASSERT_TRUE(next.load({&piece, 1}));
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
    const std::string_view beginning = std::string_view(bytes).substr(0, length);
    (void)cut.load({&beginning, 1});
    std::string garbled = bytes;
    garbled[length] = static_cast<char>(~garbled[length]);
    LearnedChains odd;
    const std::string_view whole = garbled;
    (void)odd.load({&whole, 1});
    std::vector<ChainKey> chain;
    (void)odd.find(prompt(marks_of({{kUser, words(1, 200)}, {kUser, words(61, 100)}})), chain);
  }
}

}  // namespace
}  // namespace rolter::kvcache
