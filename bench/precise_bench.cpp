// What precise_cache_aware costs a request: the pick (hashing the prompt's blocks and looking them
// up for every target) and the record of what is on its way. Arguments: blocks of the prompt,
// targets, all of which hold it; and prompts pending, which share half of their blocks with it.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/allocations.h"
#include "rolter/balance/precise_cache_aware.h"
#include "rolter/kvcache/residency.h"

namespace rolter {
namespace {

constexpr std::uint32_t kBlockSize = 16;
constexpr TimePoint kNow = TimePoint{} + std::chrono::hours(1);

class Fleet {
 public:
  Fleet(std::size_t blocks, std::size_t targets, std::size_t pending) : ids_(blocks * kBlockSize) {
    std::iota(ids_.begin(), ids_.end(), TokenId{1});
    std::vector<kvcache::ChainKey> chain;
    kvcache::chain_keys(ids_, kBlockSize, {}, chain);
    std::vector<kvcache::EngineHash> hashes;
    for (const kvcache::ChainKey key : chain) {
      hashes.push_back(kvcache::EngineHash{static_cast<std::uint64_t>(key)});
    }
    for (std::size_t i = 0; i < targets; ++i) {
      const ReplicaSlot replica{static_cast<std::uint32_t>(i)};
      const auto stream = residency_->index.add_stream({.replica = replica}).value();
      residency_->index.set_usable(stream, true);
      residency_->index.begin(stream).stored(
          {.hashes = hashes, .tokens = ids_, .block_size = kBlockSize});
      streams_.push_back(stream);
      candidates_.push_back({.target = i,
                             .replica = replica,
                             .in_flight = static_cast<std::uint32_t>(4 + i * 7 % 3)});
    }
    add_pending(pending);
    strategy_ = std::make_unique<balance::PreciseCacheAware>(
        balance::PreciseSettings{},
        balance::RouteResidency(residency_, std::vector<std::string>(targets, "model")));
  }

  [[nodiscard]] balance::PickInput input() const {
    balance::PickInput in;
    in.eligible = candidates_;
    in.token_ids = ids_;
    in.now = kNow;
    return in;
  }
  [[nodiscard]] balance::PreciseCacheAware& strategy() { return *strategy_; }
  [[nodiscard]] const balance::Candidate& candidate(std::size_t i) const { return candidates_[i]; }

 private:
  void add_pending(std::size_t count) {
    std::vector<TokenId> other = ids_;
    std::vector<kvcache::ChainKey> chain;
    for (std::size_t i = 0; i < count; ++i) {
      std::iota(other.begin() + static_cast<std::ptrdiff_t>(other.size() / 2), other.end(),
                static_cast<TokenId>(1'000'000 * (i + 1)));
      kvcache::chain_keys(other, kBlockSize, {}, chain);
      (void)residency_->pending.add(streams_[i % streams_.size()], chain, kNow);
    }
  }

  std::vector<TokenId> ids_;
  std::shared_ptr<kvcache::Residency> residency_ = std::make_shared<kvcache::Residency>();
  std::vector<kvcache::StreamId> streams_;
  std::vector<balance::Candidate> candidates_;
  std::unique_ptr<balance::PreciseCacheAware> strategy_;
};

Fleet fleet_for(const benchmark::State& state) {
  return {static_cast<std::size_t>(state.range(0)), static_cast<std::size_t>(state.range(1)),
          static_cast<std::size_t>(state.range(2))};
}

void BM_PrecisePick(benchmark::State& state) {
  Fleet fleet = fleet_for(state);
  Rng rng(1);
  balance::Decision decision = fleet.strategy().pick(fleet.input(), rng, nullptr);
  if (decision.matched != 1.0) {
    state.SkipWithError("not exact");
  }
  const bench::AllocationCounter allocations;
  for (auto _ : state) {
    decision = fleet.strategy().pick(fleet.input(), rng, nullptr);
    benchmark::DoNotOptimize(decision);
  }
  allocations.report(state);
}

/// From the moment it is sent to the end of its answer.
void BM_PreciseRecord(benchmark::State& state) {
  Fleet fleet = fleet_for(state);
  const bench::AllocationCounter allocations;
  std::size_t i = 0;
  for (auto _ : state) {
    balance::Record record = fleet.strategy().record(
        fleet.input(), fleet.candidate(i++ % static_cast<std::size_t>(state.range(1))));
    record.keep(TimePoint{});
    record.end(kNow - std::chrono::hours(1));
  }
  allocations.report(state);
}

/// A request of 2.4 KB without token ids from its pick to its end, the events of the blocks that it
/// fills included: under a known system prompt of 1 KB, with an own part and a reply of 400 bytes.
/// Argument: whether its chain is learned.
void BM_PlainText(benchmark::State& state) {
  const bool learns = state.range(0) != 0;
  const auto residency = std::make_shared<kvcache::Residency>();
  const ReplicaSlot replica{0};
  const auto stream = residency->index.add_stream({.replica = replica}).value();
  residency->index.set_usable(stream, true);
  balance::PreciseCacheAware strategy(
      {}, balance::RouteResidency(residency, {"model"},
                                  learns ? balance::Learning::kOn : balance::Learning::kOff));
  const std::vector<balance::Candidate> candidates{{.target = 0, .replica = replica}};
  std::string text(2'400, 'x');
  text[1'000] = static_cast<char>(0xF9);  // the user's turn
  const std::string reply = static_cast<char>(0xFA) + std::string(400, 'y');
  std::vector<TokenId> ids(600);
  std::iota(ids.begin(), ids.end(), TokenId{1});
  std::vector<kvcache::EngineHash> hashes(ids.size() / kBlockSize);
  std::vector<kvcache::ChainKey> chain;
  Rng rng(1);
  for (std::uint64_t i = 1; auto _ : state) {
    state.PauseTiming();
    std::memcpy(text.data() + 1'001, &i, sizeof(i));
    for (char& byte : std::span(text).subspan(1'001, sizeof(i))) {
      byte = static_cast<char>(byte & 0x7F);
    }
    std::iota(ids.begin() + 250, ids.end(), static_cast<TokenId>(i * 1'000));
    kvcache::chain_keys(ids, kBlockSize, {}, chain);
    std::ranges::transform(chain, hashes.begin(), [](kvcache::ChainKey key) {
      return kvcache::EngineHash{static_cast<std::uint64_t>(key)};
    });
    ++i;
    state.ResumeTiming();
    balance::PickInput in;
    in.eligible = candidates;
    in.prompt = {.root = 1, .text = text, .is_chat = true};
    in.now = kNow + std::chrono::milliseconds(i);
    benchmark::DoNotOptimize(strategy.pick(in, rng, nullptr));
    balance::Record record = strategy.record(in, candidates[0]);
    const kvcache::TagText session(record.session());
    residency->index.begin(stream).stored(
        {.hashes = hashes,
         .tokens = std::span(ids).first(hashes.size() * kBlockSize),
         .block_size = kBlockSize,
         .session_id = learns ? session.view() : std::string_view()});
    record.keep(in.now);
    record.reply(reply);
    record.report({.prompt_tokens = 600, .cached_tokens = 0});
    record.end(in.now);
  }
}

BENCHMARK(BM_PlainText)->Arg(0)->Arg(1)->Iterations(20'000);
BENCHMARK(BM_PrecisePick)
    ->Args({128, 16, 0})
    ->Args({128, 16, 256})
    ->Args({3'750, 96, 0})
    ->Args({3'750, 96, 1'000});
BENCHMARK(BM_PreciseRecord)->Args({128, 16, 256})->Args({3'750, 96, 200});

}  // namespace
}  // namespace rolter
