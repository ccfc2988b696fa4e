#include "rolter/balance/precise_cache_aware.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/balance/precise_fixture.h"

namespace rolter::balance {
namespace {

using namespace std::chrono_literals;

TEST_F(PreciseTest, the_engine_that_holds_most_of_the_prompt_gets_it) {
  add_engines(4);
  store(streams_[1], tokens(8));
  store(streams_[2], tokens(12));
  const auto strategy = make();
  const Decision decision = pick(*strategy, tokens(19));
  EXPECT_EQ(decision.target, 2U);
  EXPECT_EQ(decision.reason, Reason::kResident);
  EXPECT_EQ(decision.matched, 3.0 / 4.0) << "of the full blocks; the last three tokens fill none";
  EXPECT_EQ(decision.cached_tokens, 12U);
  EXPECT_EQ(decision.rank, std::nullopt);
}

TEST_F(PreciseTest, a_whole_prompt_in_the_cache_still_costs_the_block_of_its_last_token) {
  add_engines(4);
  store(streams_[0], tokens(12));
  const auto strategy = make();
  const Decision decision = pick(*strategy, tokens(12));
  EXPECT_EQ(decision.matched, 1.0);
  EXPECT_EQ(decision.cached_tokens, 8U);
  EXPECT_EQ(pick(*strategy, tokens(13)).cached_tokens, 12U);
}

TEST_F(PreciseTest, without_ids_or_without_a_full_block_the_least_loaded_is_chosen) {
  add_engines(4);
  store(streams_[0], tokens(12));
  targets_[0].in_flight = targets_[1].in_flight = targets_[3].in_flight = 1;
  const auto strategy = make();
  for (const std::vector<TokenId>& ids : {std::vector<TokenId>{}, tokens(3), tokens(12, 500)}) {
    const Decision decision = pick(*strategy, ids);
    EXPECT_EQ(decision.target, 2U);
    EXPECT_EQ(decision.reason, Reason::kNoCredit);
    EXPECT_EQ(decision.cached_tokens.value_or(0), 0U);
  }
  EXPECT_EQ(pick(*strategy, {}).cached_tokens, std::nullopt) << "not known is not zero";
}

TEST_F(PreciseTest, an_unusable_stream_costs_its_own_target_the_credit_and_no_other) {
  add_engines(4);
  store(streams_[0], tokens(12));
  store(streams_[1], tokens(8));
  residency_->index.set_usable(streams_[0], false);
  const auto strategy = make();
  EXPECT_EQ(pick(*strategy, tokens(12)).target, 1U);
  residency_->index.set_usable(streams_[1], false);
  EXPECT_EQ(pick(*strategy, tokens(12)).reason, Reason::kNoCredit);
}

TEST_F(PreciseTest, between_equal_holders_the_less_loaded_wins_and_load_never_outweighs_the_cache) {
  add_engines(4);
  store(streams_[1], tokens(40));
  store(streams_[2], tokens(40));
  targets_[1].in_flight = 2;
  targets_[2].in_flight = 1;
  const auto strategy = make();
  EXPECT_EQ(pick(*strategy, tokens(41)).target, 2U);
  EXPECT_EQ(pick(*strategy, tokens(41)).reason, Reason::kResident);
}

TEST_F(PreciseTest, a_small_credit_is_outweighed_by_load) {
  add_engines(4);
  store(streams_[0], tokens(4));
  targets_[0].in_flight = 2;  // 2/8 of the load score, times 0.25; its share is 1/20
  const auto strategy = make();
  const Decision decision = pick(*strategy, tokens(80));
  EXPECT_NE(decision.target, 0U);
  EXPECT_EQ(decision.reason, Reason::kScore);
}

TEST_F(PreciseTest, an_overloaded_holder_is_passed_over_for_the_next_best) {
  add_engines(4);
  store(streams_[0], tokens(40));
  store(streams_[1], tokens(20));
  targets_[0].in_flight = 3;
  const auto strategy = make();
  const Decision decision = pick(*strategy, tokens(41));
  EXPECT_EQ(decision.target, 1U);
  EXPECT_EQ(decision.reason, Reason::kOverloaded);
  const auto patient = make({.overload = {.beyond = 3}});
  EXPECT_EQ(pick(*patient, tokens(41)).target, 0U);
}

TEST_F(PreciseTest, a_burst_with_one_prefix_stays_together_before_any_event_has_come) {
  add_engines(4);
  const auto strategy = make();
  const Decision first = pick(*strategy, tokens(40));
  const Record sent = send(*strategy, tokens(40), first);
  const Decision second = pick(*strategy, tokens(44));
  EXPECT_EQ(second.target, first.target);
  EXPECT_EQ(second.reason, Reason::kResident);
  EXPECT_EQ(second.cached_tokens, 40U);
}

TEST_F(PreciseTest, optimism_can_be_switched_off) {
  add_engines(4);
  const auto strategy = make({.optimistic = false});
  const Record sent = send(*strategy, tokens(40), pick(*strategy, tokens(40)));
  EXPECT_EQ(pick(*strategy, tokens(40)).reason, Reason::kNoCredit);
}

TEST_F(PreciseTest, what_was_sent_counts_until_it_fails_or_one_second_after_its_answer) {
  add_engines(4);
  const auto strategy = make();
  {
    const Record failed = send(*strategy, tokens(40), pick(*strategy, tokens(40)));
    EXPECT_EQ(pick(*strategy, tokens(40)).reason, Reason::kResident);
  }
  EXPECT_EQ(pick(*strategy, tokens(40)).reason, Reason::kNoCredit);

  Record served = send(*strategy, tokens(40), pick(*strategy, tokens(40)));
  served.keep(kNow);
  EXPECT_EQ(pick(*strategy, tokens(40)).reason, Reason::kResident);
  served.end(kNow - 999ms);
  EXPECT_EQ(pick(*strategy, tokens(40)).reason, Reason::kResident);
  Record again = send(*strategy, tokens(40), pick(*strategy, tokens(40)));
  again.keep(kNow);
  again.end(kNow - 1s);
  residency_->pending.evicted(streams_[0]);
  for (const StreamId stream : streams_) {
    residency_->pending.evicted(stream);
  }
  EXPECT_EQ(pick(*strategy, tokens(40)).reason, Reason::kNoCredit);
}

TEST_F(PreciseTest, a_kept_record_that_is_dropped_leaves_nothing_behind) {
  add_engines(4);
  const auto strategy = make();
  send(*strategy, tokens(40), pick(*strategy, tokens(40))).keep(kNow);
  EXPECT_EQ(pick(*strategy, tokens(40)).reason, Reason::kNoCredit);
}

TEST_F(PreciseTest, of_several_ranks_the_best_is_named) {
  targets_.resize(1);
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    streams_.push_back(add_engine(0, rank));
  }
  store(streams_[2], tokens(40));
  const auto strategy = make();
  const Decision decision = pick(*strategy, tokens(41));
  EXPECT_EQ(decision.rank, 2U);
  EXPECT_EQ(decision.reason, Reason::kOnlyOne);
}

TEST_F(PreciseTest, new_prompts_spread_over_the_ranks_and_stay_where_they_went) {
  targets_.resize(1);
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    streams_.push_back(add_engine(0, rank));
  }
  const auto strategy = make();
  std::vector<Record> sent;
  std::array<int, 4> per_rank{};
  for (TokenId prompt = 0; prompt < 40; ++prompt) {
    const std::vector<TokenId> ids = tokens(20, prompt * 100);
    const Decision decision = pick(*strategy, ids);
    ++per_rank.at(decision.rank.value());
    sent.push_back(send(*strategy, ids, decision));
    EXPECT_EQ(pick(*strategy, ids).rank, decision.rank);
  }
  EXPECT_EQ(per_rank, (std::array<int, 4>{10, 10, 10, 10}));
}

TEST_F(PreciseTest, without_optimism_equal_ranks_are_drawn_evenly) {
  targets_.resize(1);
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    streams_.push_back(add_engine(0, rank));
  }
  const auto strategy = make({.optimistic = false});
  std::vector<std::size_t> per_rank(4);
  for (int i = 0; i < 4'000; ++i) {
    ++per_rank.at(pick(*strategy, tokens(20)).rank.value());
  }
  EXPECT_LT(chi_square(per_rank), 16.27);
}

TEST_F(PreciseTest, engines_with_other_block_sizes_are_judged_by_their_own_blocks) {
  streams_ = {add_engine(0, 0, 4), add_engine(1, 0, 16)};
  targets_.resize(2);
  store(streams_[0], tokens(20), 4);
  store(streams_[1], tokens(32), 16);
  const auto strategy = make();
  const Decision decision = pick(*strategy, tokens(40));
  EXPECT_EQ(decision.target, 1U) << "2 of 2 blocks there, 5 of 10 here";
  EXPECT_EQ(decision.cached_tokens, 32U);
}

TEST_F(PreciseTest, a_salt_separates_prompts) {
  add_engines(4);
  store(streams_[0], tokens(20), kBlockSize, {.cache_salt = "tenant"});
  store(streams_[1], tokens(20));
  const auto strategy = make();
  EXPECT_EQ(pick(*strategy, tokens(21)).target, 1U);
  const std::vector<TokenId> ids = tokens(21);
  PickInput salted = input(ids);
  salted.cache_salt = "tenant";
  EXPECT_EQ(strategy->pick(salted, rng_, nullptr).target, 0U);
}

TEST_F(PreciseTest, an_adapter_s_blocks_are_not_its_base_model_s) {
  add_engines(2);
  targets_.resize(2);
  store(streams_[0], tokens(4));
  const kvcache::EngineHash hash{77};
  const kvcache::ExtraDigest named =
      kvcache::mix_extra(kvcache::ExtraDigest::kNone, kvcache::ExtraKind::kAdapter, "lora");
  const std::vector<TokenId> block = tokens(4);
  residency_->index.begin(streams_[1])
      .stored({.hashes = {&hash, 1},
               .tokens = block,
               .block_size = kBlockSize,
               .extras = {&named, 1},
               .adapter = "lora"});
  const auto base = make({}, {"m", "m"});
  const auto adapter = make({}, {"lora", "lora"});
  EXPECT_EQ(pick(*base, tokens(5)).target, 0U);
  EXPECT_EQ(pick(*adapter, tokens(5)).target, 1U);
}

TEST_F(PreciseTest, a_prompt_with_media_is_not_taken_for_its_token_ids) {
  add_engines(4);
  const auto strategy = make();
  const std::vector<TokenId> ids = tokens(40);
  PickInput in = input(ids);
  in.prompt.has_media = true;
  const Record sent = strategy->record(in, targets_[0]);
  EXPECT_EQ(pick(*strategy, ids).reason, Reason::kNoCredit);
}

TEST_F(PreciseTest, with_sliding_windows_blocks_count_up_to_the_end_of_a_prompt_that_was_sent) {
  add_engines(4);
  std::vector<ChainKey> keys;
  kvcache::chain_keys(tokens(40), kBlockSize, {}, keys);
  fakes::StoredBlocks all{.hashes = {}, .tokens = tokens(40), .block_size = kBlockSize};
  for (const ChainKey key : keys) {
    all.hashes.push_back(static_cast<std::uint64_t>(key));
  }
  all.scope.group = 0;
  all.apply(residency_->index, streams_[0]);
  fakes::StoredBlocks window = all;  // its layers keep the last block only
  window.hashes = {all.hashes.back()};
  window.scope.group = 1;
  window.apply(residency_->index, streams_[0]);

  const auto strategy = make();
  EXPECT_EQ(pick(*strategy, tokens(44)).reason, Reason::kNoCredit);
  (void)strategy->record(input(tokens(40)), targets_[0]);
  const Decision decision = pick(*strategy, tokens(44));
  EXPECT_EQ(decision.target, 0U);
  EXPECT_EQ(decision.cached_tokens, 40U);
  EXPECT_EQ(pick(*strategy, tokens(24)).reason, Reason::kNoCredit) << "no prompt ended there";
}

TEST_F(PreciseTest, explains_every_target) {
  add_engines(4);
  store(streams_[3], tokens(20));
  targets_[0].in_flight = 4;
  const auto strategy = make();
  const std::vector<TokenId> ids = tokens(40);
  std::vector<Score> scores;
  (void)strategy->pick(input(ids), rng_, &scores);
  ASSERT_EQ(scores.size(), 4U);
  EXPECT_EQ(scores[3].matched, 0.5);
  EXPECT_EQ(scores[3].total, 0.5 + 0.25);
  EXPECT_EQ(scores[0].total, 0.25 * 0.5);
  EXPECT_EQ(scores[3].parts,
            (std::vector<std::pair<std::string_view, double>>{{"precise", 0.5}, {"load", 1.0}}));
}

}  // namespace
}  // namespace rolter::balance
