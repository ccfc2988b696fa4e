#include "rolter/balance/predicted_ttft.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "tests/fakes/stored_blocks.h"
#include "tests/unit/balance/fleet.h"

namespace rolter::balance {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kPickedAt = TimePoint{} + std::chrono::hours(1);
constexpr std::uint32_t kEngineBlock = 16;

class PredictedTtftTest : public ::testing::Test {
 protected:
  PredictedTtftTest() : targets_(idle_targets(kTargets)) {}

  PickInput input(std::string_view text, TimePoint now = kPickedAt) {
    PickInput in = input_for(targets_, text);
    in.now = now;
    in.token_ids = ids_;
    return in;
  }

  Decision pick(std::string_view text, TimePoint now = kPickedAt) {
    return strategy_.pick(input(text, now), rng_, nullptr);
  }

  Record send(std::string_view text, std::size_t target, TimePoint now = kPickedAt) {
    return strategy_.record(input(text, now), targets_[target]);
  }

  /// As if the target had served it within `seconds`.
  void serve(std::string_view text, std::size_t target, TimePoint now = kPickedAt,
             PromptUsage usage = {}) {
    Record record = send(text, target, now);
    record.keep(now + 1s);
    record.report(usage);
    record.end(now + 1s);
  }

  static constexpr std::size_t kTargets = 4;
  std::shared_ptr<kvcache::Residency> residency_ = std::make_shared<kvcache::Residency>();
  std::shared_ptr<TokenSize> token_size_ = std::make_shared<TokenSize>();
  std::shared_ptr<PrefillQueues> queues_ = std::make_shared<PrefillQueues>();
  PredictedTtft strategy_{
      {.prefixes = RoutePrefixes(std::vector<std::shared_ptr<kvcache::PrefixTree>>(
           kTargets, std::make_shared<kvcache::PrefixTree>(kvcache::PrefixTreeLimits{}))),
       .residency = RouteResidency(residency_, std::vector<std::string>(kTargets, "m")),
       .queues = queues_,
       .token_size = token_size_}};
  std::vector<Candidate> targets_;
  std::vector<TokenId> ids_;
  Rng rng_{1};
};

TEST_F(PredictedTtftTest, an_idle_fleet_is_used_evenly) {
  std::vector<std::size_t> counts(kTargets, 0);
  for (int i = 0; i < 4'000; ++i) {
    ++counts[pick("a prompt of nobody").target];
  }
  EXPECT_LT(chi_square(counts), 16.27);
}

TEST_F(PredictedTtftTest, a_prompt_goes_where_most_of_it_has_been_sent) {
  serve(std::string(1'000, 'a'), 2);
  const Decision decision = pick(std::string(1'000, 'a') + "bbbb");
  EXPECT_EQ(decision.target, 2U);
  EXPECT_EQ(decision.reason, Reason::kPredicted);
  EXPECT_GT(decision.matched, 0.99);
  EXPECT_EQ(decision.matched_units, 1'000U);
}

TEST_F(PredictedTtftTest, a_queue_that_takes_longer_than_the_miss_costs_is_avoided) {
  const std::string shared(4'000, 'a');
  serve(shared, 2);
  const std::string prompt = shared + std::string(100, 'b');
  Record small = send(std::string(6'000, 'x'), 2);
  EXPECT_EQ(pick(prompt).target, 2U) << "1,500 tokens wait; a miss would cost 2 x 1,025";
  Record large = send(std::string(12'000, 'y'), 2);
  EXPECT_NE(pick(prompt).target, 2U) << "4,500 tokens wait";
}

TEST_F(PredictedTtftTest, a_burst_with_one_prefix_stays_where_the_first_one_went) {
  const std::string shared(8'000, 's');
  const std::size_t first = pick(shared + "1").target;
  const Record on_its_way = send(shared + "1", first);
  EXPECT_EQ(pick(shared + "2").target, first) << "queueing for 1 prefill costs less than 2 more";
}

TEST_F(PredictedTtftTest, what_came_to_nothing_is_forgotten) {
  {
    const Record dropped = send(std::string(1'000, 'a'), 1);
  }
  EXPECT_EQ(pick(std::string(1'000, 'a')).matched, 0.0);
  std::vector<std::size_t> counts(kTargets, 0);
  for (int i = 0; i < 400; ++i) {
    ++counts[pick("x").target];
  }
  EXPECT_GT(counts[1], 50U) << "nothing waits there";
}

TEST_F(PredictedTtftTest, engines_words_are_believed_more_than_what_was_sent) {
  for (std::uint32_t i = 0; i < kTargets; ++i) {
    const auto stream =
        residency_->index.add_stream({.replica = ReplicaSlot{i}, .block_size = kEngineBlock})
            .value();
    residency_->index.set_usable(stream, true);
  }
  ids_.resize(160);
  std::iota(ids_.begin(), ids_.end(), 0);
  const std::string text(640, 'a');
  {
    Record record = send(text, 1);
    record.keep(kPickedAt);
    record.end(kPickedAt);
  }
  EXPECT_EQ(pick(text).target, 1U) << "pending";
  const Decision later = pick(text, kPickedAt + 10s);
  EXPECT_EQ(later.cached_tokens, 0U) << "no event told of it, though it was sent";
  EXPECT_EQ(later.matched, 0.0);
}

TEST_F(PredictedTtftTest, the_size_of_a_token_is_learned_from_what_engines_count) {
  EXPECT_EQ(token_size_->bytes(), 4.0);
  serve(std::string(3'000, 'a'), 0, kPickedAt, {.prompt_tokens = 1'500, .cached_tokens = 0});
  EXPECT_EQ(token_size_->bytes(), 2.0);
}

TEST_F(PredictedTtftTest, without_a_prompt_the_shortest_queue_is_taken) {
  std::vector<Record> waiting;
  for (std::size_t i = 0; i < kTargets; ++i) {
    if (i != 3) {
      waiting.push_back(send(std::string(1'000, static_cast<char>('a' + i)), i));
    }
  }
  const Decision decision = pick("");
  EXPECT_EQ(decision.target, 3U);
  EXPECT_EQ(decision.reason, Reason::kNoPrompt);
}

TEST_F(PredictedTtftTest, of_equal_targets_the_one_with_fewer_requests_is_taken) {
  for (Candidate& target : targets_) {
    target.in_flight = 5;
  }
  targets_[1].in_flight = 4;
  EXPECT_EQ(pick("x").target, 1U);
}

TEST_F(PredictedTtftTest, explain_shows_the_queue_and_the_own_prefill) {
  const Record waiting = send(std::string(4'000, 'q'), 0);
  std::vector<Score> scores;
  (void)strategy_.pick(input(std::string(400, 'x')), rng_, &scores);
  ASSERT_EQ(scores.size(), kTargets);
  EXPECT_EQ(scores[0].parts[0].first, "queue_s");
  EXPECT_GT(scores[0].parts[0].second, 0.0);
  EXPECT_EQ(scores[1].parts[0].second, 0.0);
  EXPECT_LT(scores[0].total, scores[1].total);
}

}  // namespace
}  // namespace rolter::balance
