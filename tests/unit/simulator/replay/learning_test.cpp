// What engines report makes an index without events as good as the exact one, in virtual time.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "rolter/base/random.h"
#include "rolter/simulator/replay/strategy_policy.h"
#include "rolter/simulator/replay/virtual_fleet.h"

namespace rolter::simulator::replay {
namespace {

using config::StrategyKind;

/// Lets a strategy decide, and counts what engines find once it had 500 requests to learn from,
/// counted from the first eviction.
class AfterLearning final : public Policy {
 public:
  static constexpr std::size_t kLessons = 500;

  explicit AfterLearning(const StrategyOptions& options) : policy_(make_strategy_policy(options)) {}

  std::optional<Choice> choose(const Arrival& arrival, std::span<const VirtualEngine> engines,
                               Rng& rng) override {
    return policy_->choose(arrival, engines, rng);
  }
  void first_token(const Answer& answer) override { policy_->first_token(answer); }
  void ended(const Answer& answer) override {
    policy_->ended(answer);
    lessons_ += evicting_ ? 1 : 0;
    if (lessons_ > kLessons) {
      prompt_tokens_ += answer.prompt_tokens;
      found_tokens_ += answer.cached_tokens;
    }
  }
  void cache_changed(std::size_t replica, std::span<const BlockId> chain, const CacheChange& change,
                     TimePoint now) override {
    evicting_ = evicting_ || !change.removed.empty();
    policy_->cache_changed(replica, chain, change, now);
  }
  [[nodiscard]] std::optional<std::size_t> believed_blocks(std::size_t replica) const override {
    return policy_->believed_blocks(replica);
  }

  /// In percent.
  [[nodiscard]] double hit_rate() const {
    return 100.0 * static_cast<double>(found_tokens_) / static_cast<double>(prompt_tokens_);
  }

 private:
  std::unique_ptr<Policy> policy_;
  bool evicting_ = false;
  std::size_t lessons_ = 0;
  std::size_t prompt_tokens_ = 0;
  std::size_t found_tokens_ = 0;
};

constexpr std::size_t kBlocks = 1'000;

/// 8,000 questions on 400 documents of 20 blocks, two a second; what is popular is asked about more
/// often (the share of the n-th is about 1 / n^0.8). Half of the documents fit into four replicas.
Workload questions() {
  constexpr std::size_t kDocuments = 400;
  constexpr std::uint32_t kPages = 20;
  std::vector<double> weights;
  for (std::size_t i = 1; i <= kDocuments; ++i) {
    weights.push_back(std::pow(static_cast<double>(i), -0.8));
  }
  std::partial_sum(weights.begin(), weights.end(), weights.begin());
  Rng rng(11);
  std::vector<TraceChain> chains;
  for (int i = 0; i < 8'000; ++i) {
    const double drawn = uniform_unit(rng) * weights.back();
    const auto document =
        static_cast<std::uint32_t>(std::ranges::lower_bound(weights, drawn) - weights.begin());
    TraceChain& chain = chains.emplace_back();
    chain.start_s = 0.5 * i;
    TraceCall& call = chain.calls.emplace_back();
    call.input_tokens = kPages * kTraceBlockTokens;
    call.output_tokens = 20;
    for (std::uint32_t page = 0; page < kPages; ++page) {
      call.blocks.push_back(document * kPages + page);
    }
  }
  return make_workload({std::move(chains)});
}

FleetShape fleet(std::vector<std::size_t> blocks) {
  FleetShape shape;
  shape.blocks = std::move(blocks);
  return shape;
}

StrategyOptions options_of(StrategyKind kind, std::size_t believed_blocks) {
  StrategyOptions options;
  options.kind = kind;
  options.believed_blocks = believed_blocks;
  return options;
}

double hit_rate(const StrategyOptions& options, const FleetShape& shape) {
  const Workload workload = questions();
  AfterLearning policy(options);
  (void)play(workload, shape, {}, policy);
  return policy.hit_rate();
}

TEST(Learning, a_tree_that_believes_four_times_too_much_comes_close_to_the_exact_index) {
  StrategyOptions exact = options_of(StrategyKind::kPredictedTtft, 0);
  exact.index_lag = Duration::zero();
  const FleetShape shape = fleet({kBlocks});
  const double best = hit_rate(exact, shape);
  EXPECT_GT(hit_rate(options_of(StrategyKind::kPredictedTtft, 4 * kBlocks), shape), best - 3.0);
  EXPECT_GT(hit_rate(options_of(StrategyKind::kCacheAware, 4 * kBlocks), shape), best - 3.0);
}

TEST(Learning, replicas_of_different_size_are_told_apart) {
  const Workload workload = questions();
  for (const StrategyKind kind : {StrategyKind::kPredictedTtft, StrategyKind::kCacheAware}) {
    const auto policy = make_strategy_policy(options_of(kind, 4 * kBlocks));
    const Outcome outcome = play(workload, fleet({kBlocks / 2, 2 * kBlocks}), {}, *policy);
    for (std::size_t i = 0; i < outcome.replicas.size(); ++i) {
      const auto holds = static_cast<double>(i % 2 == 0 ? kBlocks / 2 : 2 * kBlocks);
      EXPECT_NEAR(static_cast<double>(*outcome.replicas[i].believed_blocks), holds, 0.3 * holds)
          << i;
      EXPECT_GT(*outcome.replicas[i].forecast.precision(), 0.8) << i;
    }
  }
}

TEST(Learning, without_the_engines_word_what_is_believed_stays) {
  StrategyOptions deaf = options_of(StrategyKind::kCacheAware, 4 * kBlocks);
  deaf.reports_cached = false;
  const Workload workload = questions();
  const auto policy = make_strategy_policy(deaf);
  const Outcome outcome = play(workload, fleet({kBlocks}), {}, *policy);
  EXPECT_GT(*outcome.replicas[0].believed_blocks, 3 * kBlocks / 2) << "all it was sent";
}

}  // namespace
}  // namespace rolter::simulator::replay
