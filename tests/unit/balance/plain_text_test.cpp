// Exact residency of requests without token ids, by what was learned of their text.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/unit/balance/precise_fixture.h"

namespace rolter::balance {
namespace {

/// Requests of plain text, to engines that name the session in their events.
class PlainTextTest : public PreciseTest {
 protected:
  std::unique_ptr<PreciseCacheAware> make_learning(std::optional<RoutePrefixes> prefixes = {},
                                                   std::string_view route = "m") {
    return std::make_unique<PreciseCacheAware>(
        PreciseSettings{},
        RouteResidency(residency_, std::vector<std::string>(4, "m"), Learning::kOn, route),
        std::move(prefixes));
  }
  PickInput asks(std::string_view text) const {
    PickInput in = input_for(targets_, text);
    in.prompt.is_chat = true;
    in.now = kNow;
    return in;
  }
  /// The target computes the text, of which it makes these tokens.
  void compute(Strategy& strategy, std::string_view text, std::size_t target,
               const std::vector<TokenId>& ids) {
    Record record = strategy.record(asks(text), targets_[target]);
    ASSERT_NE(record.session(), kvcache::SessionTag::kNone);
    std::vector<ChainKey> keys;
    kvcache::chain_keys(ids, kBlockSize, {}, keys);
    fakes::StoredBlocks stored{.hashes = {}, .tokens = ids, .block_size = kBlockSize};
    stored.tokens.resize(keys.size() * kBlockSize);
    for (const ChainKey key : keys) {
      stored.hashes.push_back(static_cast<std::uint64_t>(key));
    }
    stored.session_id = kvcache::TagText(record.session()).view();
    stored.apply(residency_->index, streams_[target]);
    record.keep(kNow);
    record.report({.prompt_tokens = ids.size(), .cached_tokens = 0});
    record.end(kNow);
  }
};

TEST_F(PlainTextTest, the_chain_that_a_text_was_learned_to_become_decides) {
  add_engines(4);
  const auto strategy = make_learning();
  const std::string text(150, 't');
  EXPECT_EQ(strategy->pick(asks(text), rng_, nullptr).reason, Reason::kNoCredit);
  compute(*strategy, text, 2, tokens(39));
  const Decision decision = strategy->pick(asks(text), rng_, nullptr);
  EXPECT_EQ(decision.target, 2U);
  EXPECT_EQ(decision.reason, Reason::kResident);
  EXPECT_EQ(decision.source, Source::kLearned);
  EXPECT_EQ(decision.cached_tokens, 36U);
  const Decision other = strategy->pick(asks("another"), rng_, nullptr);
  EXPECT_EQ(other.reason, Reason::kNoCredit);
  EXPECT_EQ(other.source, Source::kNone);
  EXPECT_EQ(other.cached_tokens, std::nullopt);
}

TEST_F(PlainTextTest, token_ids_go_before_what_was_learned) {
  add_engines(4);
  const auto strategy = make_learning();
  const std::string text(150, 't');
  compute(*strategy, text, 2, tokens(39));
  store(streams_[1], tokens(20, 500));
  PickInput in = asks(text);
  const std::vector<TokenId> ids = tokens(20, 500);
  in.token_ids = ids;
  const Decision decision = strategy->pick(in, rng_, nullptr);
  EXPECT_EQ(decision.target, 1U);
  EXPECT_EQ(decision.source, Source::kTokenIds);
}

TEST_F(PlainTextTest, what_was_learned_counts_at_every_replica_of_the_model) {
  add_engines(4);
  const auto strategy = make_learning();
  const std::string text(150, 't');
  compute(*strategy, text, 2, tokens(39));
  residency_->index.forget(streams_[2], kvcache::BlockIndex::Forget::kBlocksAndEngine);
  EXPECT_EQ(strategy->pick(asks(text), rng_, nullptr).reason, Reason::kNoCredit)
      << "the engine restarted: no false hit";
  store(streams_[3], tokens(39));
  EXPECT_EQ(strategy->pick(asks(text), rng_, nullptr).target, 3U);
}

TEST_F(PlainTextTest, a_known_beginning_on_its_way_counts_as_held) {
  add_engines(4);
  const auto strategy = make_learning();
  const std::string text(150, 't');
  compute(*strategy, text, 2, tokens(39));
  residency_->index.forget(streams_[2], kvcache::BlockIndex::Forget::kBlocksAndEngine);
  const Record on_its_way = strategy->record(asks(text), targets_[0]);
  EXPECT_EQ(strategy->pick(asks(text), rng_, nullptr).target, 0U);
}

TEST_F(PlainTextTest, a_route_is_distrusted_for_its_own_errors) {
  add_engines(4);
  const auto strategy = make_learning();
  const auto other = make_learning({}, "another route to the model");
  const std::string text(150, 't');
  compute(*strategy, text, 2, tokens(39));
  for (int i = 0; i < 40; ++i) {
    PickInput in = asks(text);
    in.cached_tokens = 36;
    Record record = strategy->record(in, targets_[2]);
    record.keep(kNow);
    record.report({.prompt_tokens = 39, .cached_tokens = 0});
    record.end(kNow);
  }
  EXPECT_EQ(residency_->learned.stats().distrusted, 1U);
  EXPECT_EQ(strategy->pick(asks(text), rng_, nullptr).reason, Reason::kNoCredit);
  EXPECT_EQ(other->pick(asks(text), rng_, nullptr).reason, Reason::kResident);
}

TEST_F(PlainTextTest, a_prompt_that_is_there_is_not_on_its_way) {
  add_engines(4);
  const auto strategy = make_learning();
  const std::string text(150, 't');
  compute(*strategy, text, 2, tokens(39));
  residency_->pending.evicted(streams_[2]);
  ASSERT_EQ(residency_->pending.stats().chains, 0U);
  const Decision decision = strategy->pick(asks(text), rng_, nullptr);
  PickInput in = asks(text);
  in.decided = &decision;
  const Record there = strategy->record(in, targets_[2]);
  EXPECT_EQ(residency_->pending.stats().chains, 0U);
  const Record elsewhere = strategy->record(in, targets_[1]);
  EXPECT_EQ(residency_->pending.stats().chains, 1U);
}

TEST_F(PlainTextTest, what_a_decision_has_found_is_not_taken_for_another_prompt_s) {
  add_engines(4);
  const auto strategy = make_learning();
  const std::string one(150, 'x');
  const std::string other(150, 'y');
  compute(*strategy, one, 2, tokens(39));
  compute(*strategy, other, 2, tokens(39, 500));
  residency_->index.forget(streams_[2], kvcache::BlockIndex::Forget::kBlocksAndEngine);
  const Decision of_one = strategy->pick(asks(one), rng_, nullptr);
  const Decision of_other = strategy->pick(asks(other), rng_, nullptr);
  PickInput in = asks(one);
  in.decided = &of_one;
  const Record record = strategy->record(in, targets_[1]);
  EXPECT_EQ(strategy->pick(asks(one), rng_, nullptr).reason, Reason::kResident);
  EXPECT_EQ(strategy->pick(asks(other), rng_, nullptr).reason, Reason::kNoCredit);
  in = asks(other);
  in.decided = &of_other;  // not the last thing this thread has looked up, either
  const Record another = strategy->record(in, targets_[3]);
  EXPECT_EQ(strategy->pick(asks(other), rng_, nullptr).target, 3U);
}

TEST_F(PlainTextTest, with_a_fallback_the_prefix_tree_speaks_for_what_nothing_is_known_of) {
  add_engines(4);
  const auto tree = std::make_shared<kvcache::PrefixTree>(kvcache::PrefixTreeLimits{});
  const auto strategy = make_learning(RoutePrefixes({tree, tree, tree, tree}));
  const std::string text(150, 't');
  strategy->record(asks(text), targets_[1]).keep(kNow);
  const Decision decision = strategy->pick(asks(text), rng_, nullptr);
  EXPECT_EQ(decision.target, 1U);
  EXPECT_EQ(decision.reason, Reason::kPrefix);
  EXPECT_EQ(decision.source, Source::kPrefix);
  EXPECT_EQ(decision.cached_tokens, std::nullopt);
}

}  // namespace
}  // namespace rolter::balance
