// What engines report to have found corrects what strategies believe of their caches.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rolter/balance/cache_aware.h"
#include "tests/unit/balance/fleet.h"

namespace rolter::balance {
namespace {

class LearningTest : public ::testing::Test {
 protected:
  static constexpr ReplicaSlot kFirst{0};

  /// Picks among the first target alone and serves it there; the engine finds so many tokens.
  Decision serve(std::string_view text, std::optional<std::uint64_t> cached,
                 std::uint64_t tokens = 100) {
    PickInput in = input_for(targets_, text);
    const Decision decision = strategy_.pick(in, rng_, nullptr);
    in.decided = &decision;
    Record record = strategy_.record(in, targets_[0]);
    record.keep(TimePoint{});
    record.report({.prompt_tokens = tokens, .cached_tokens = cached});
    record.end(TimePoint{});
    return decision;
  }

  /// A hundred prompts of their own.
  void fill() {
    for (int i = 0; i < 100; ++i) {
      serve(std::to_string(1'000 + i) + std::string(996, 'x'), std::nullopt);
    }
  }

  std::shared_ptr<kvcache::PrefixTree> tree_ =
      std::make_shared<kvcache::PrefixTree>(kvcache::PrefixTreeLimits{});
  std::vector<Candidate> targets_ = idle_targets(1);
  CacheAware strategy_{{}, RoutePrefixes({tree_})};
  Rng rng_{1};
};

const std::string kKnown = "1050" + std::string(996, 'x');

TEST_F(LearningTest, a_prompt_that_was_expected_and_not_found_lowers_what_a_replica_holds) {
  fill();
  EXPECT_EQ(tree_->learned_bytes(kFirst), 0U);
  EXPECT_EQ(serve(kKnown, 0).sent_bytes, 1'000U);
  EXPECT_NEAR(static_cast<double>(tree_->learned_bytes(kFirst)), 95'000.0, 1'000.0);
  EXPECT_LE(tree_->held_bytes(kFirst), tree_->learned_bytes(kFirst));
}

TEST_F(LearningTest, what_was_found_as_expected_or_not_expected_sets_no_limit) {
  fill();
  serve(kKnown, 99);
  serve("a new one", 100);
  EXPECT_EQ(tree_->learned_bytes(kFirst), 0U);
}

TEST_F(LearningTest, a_part_of_a_block_says_nothing) {
  fill();
  const auto serve_tokens = [this](std::uint64_t prompt, std::uint64_t cached) {
    serve(kKnown, cached, prompt);
    return tree_->learned_bytes(kFirst);
  };
  EXPECT_EQ(serve_tokens(30, 0), 0U) << "a prompt that fills no two blocks";
  EXPECT_EQ(serve_tokens(2'000, 1'568), 0U) << "blocks may have 1,568 tokens";
  EXPECT_EQ(serve_tokens(2'000, 1'568), 0U);
  serve_tokens(4'000, 3'920);  // they have 784
  EXPECT_EQ(tree_->learned_bytes(kFirst), 0U);
  EXPECT_EQ(serve_tokens(700, 0), 0U);
  EXPECT_GT(serve_tokens(2'000, 784), 0U);
}

TEST_F(LearningTest, engines_that_do_not_say_leave_it_off) {
  fill();
  serve(kKnown, std::nullopt);
  EXPECT_EQ(tree_->learned_bytes(kFirst), 0U);
}

TEST_F(LearningTest, a_request_that_no_strategy_has_sent_teaches_nothing) {
  fill();
  Record record = strategy_.record(input_for(targets_, kKnown), targets_[0]);
  record.keep(TimePoint{});
  record.report({.prompt_tokens = 100, .cached_tokens = 0});
  record.end(TimePoint{});
  EXPECT_EQ(tree_->learned_bytes(kFirst), 0U);
}

TEST_F(LearningTest, a_record_that_was_undone_teaches_nothing) {
  fill();
  PickInput in = input_for(targets_, kKnown);
  const Decision decision = strategy_.pick(in, rng_, nullptr);
  in.decided = &decision;
  Record record = strategy_.record(in, targets_[0]);
  record.report({.prompt_tokens = 100, .cached_tokens = 0});
  record = {};
  EXPECT_EQ(tree_->learned_bytes(kFirst), 0U);
}

TEST_F(LearningTest, what_is_believed_from_elsewhere_counts_like_what_was_learned) {
  fill();
  tree_->believe(kFirst, 10'000);
  EXPECT_LE(tree_->held_bytes(kFirst), 10'000U);
  tree_->believe(kFirst, 0);
  fill();
  EXPECT_GT(tree_->held_bytes(kFirst), 90'000U);
}

}  // namespace
}  // namespace rolter::balance
