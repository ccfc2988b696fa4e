// What each strategy's pick costs, by the number of targets. The load differs from target to
// target, so that nothing is decided by a tie that real traffic would not have. cache_aware and
// pipeline look at a 6,000-byte prompt whose conversation one target holds; prefix_tree_bench has
// more.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/allocations.h"
#include "rolter/balance/session_tables.h"
#include "rolter/balance/strategies.h"
#include "rolter/config/config.h"
#include "rolter/kvcache/prefix_trees.h"

namespace rolter {
namespace {

using config::StrategyKind;

constexpr std::size_t kPromptBytes = 6'000;
constexpr std::size_t kPrompts = 64;

/// A route of `count` targets and everything its strategy needs.
class Route {
 public:
  Route(StrategyKind kind, std::size_t count) {
    config_.routes.emplace_back().strategy = kind;
    std::vector<cluster::RouteTarget> targets(count);
    for (std::size_t i = 0; i < count; ++i) {
      config_.routes.front().targets.emplace_back().model = "model";
      targets[i].model = "model";
      targets[i].label = "replica-" + std::to_string(i) + "/model";
      balance::Candidate candidate;
      candidate.target = i;
      candidate.replica = ReplicaSlot{static_cast<std::uint32_t>(i)};
      candidate.in_flight = static_cast<std::uint32_t>(4 + i * 7 % 3);
      candidates_.push_back(candidate);
    }
    trees_.apply(balance::prefix_tree_demands(config_));
    sessions_.apply(balance::session_table_demands(config_));
    strategy_ = balance::make_strategy({.route = config_.routes.front(),
                                        .targets = targets,
                                        .trees = trees_,
                                        .sessions = sessions_,
                                        .residency = std::make_shared<kvcache::Residency>()});
  }

  [[nodiscard]] balance::PickInput input(const std::string& text) const {
    balance::PickInput in;
    in.eligible = candidates_;
    in.prompt = {.root = 1, .text = text};
    return in;
  }
  [[nodiscard]] balance::Strategy& strategy() { return *strategy_; }
  [[nodiscard]] const std::vector<balance::Candidate>& candidates() const { return candidates_; }

 private:
  config::Config config_;
  kvcache::PrefixTrees trees_;
  balance::SessionTables sessions_;
  std::vector<balance::Candidate> candidates_;
  std::unique_ptr<balance::Strategy> strategy_;
};

void pick(benchmark::State& state, StrategyKind kind) {
  const auto count = static_cast<std::size_t>(state.range(0));
  Route route(kind, count);
  Rng rng(1);
  std::vector<std::string> prompts;
  const std::string system(1'500, 's');
  for (std::size_t i = 0; i < kPrompts; ++i) {
    std::string prompt = system;
    while (prompt.size() < kPromptBytes) {
      prompt += static_cast<char>('a' + uniform_index(rng, 26));
    }
    prompts.push_back(std::move(prompt));
    const std::size_t home = uniform_index(rng, count);
    route.strategy()
        .record(route.input(prompts.back()), route.candidates()[home])
        .keep(TimePoint{});
  }
  std::size_t next = 0;
  const bench::AllocationCounter allocations;
  for (auto _ : state) {
    const balance::Decision decision =
        route.strategy().pick(route.input(prompts[next]), rng, nullptr);
    benchmark::DoNotOptimize(decision.target);
    next = (next + 1) % kPrompts;
  }
  allocations.report(state);
}

#define ROLTER_PICK(name, kind)                  \
  void BM_Pick_##name(benchmark::State& state) { \
    pick(state, kind);                           \
  }                                              \
  BENCHMARK(BM_Pick_##name)->Arg(2)->Arg(16)->Arg(128)

ROLTER_PICK(cache_aware, StrategyKind::kCacheAware);
ROLTER_PICK(pipeline, StrategyKind::kPipeline);
ROLTER_PICK(round_robin, StrategyKind::kRoundRobin);
ROLTER_PICK(random, StrategyKind::kRandom);
ROLTER_PICK(least_load, StrategyKind::kLeastLoad);
ROLTER_PICK(weighted, StrategyKind::kWeighted);
ROLTER_PICK(power_of_two, StrategyKind::kPowerOfTwo);
ROLTER_PICK(consistent_hash, StrategyKind::kConsistentHash);

}  // namespace
}  // namespace rolter
