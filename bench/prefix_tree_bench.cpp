// The prefix tree under chat traffic: 6,000-character conversations that share a system prompt,
// picked by cache_aware and recorded. One operation is one request: pick and record.
//
//   Repeat   each conversation is sent again as it is: everything is known
//   NextTurn each request is a conversation with one more turn, old conversations make room for new
//   Unrelated prompts share nothing; every one evicts another
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/allocations.h"
#include "rolter/balance/cache_aware.h"
#include "rolter/base/random.h"
#include "rolter/kvcache/prefix_tree.h"

namespace rolter {
namespace {

using balance::Candidate;
using kvcache::PrefixTree;
using kvcache::PrefixTreeLimits;

constexpr std::size_t kConversations = 64;
constexpr std::size_t kSystemBytes = 1'500;
constexpr std::size_t kTurnBytes = 500;
constexpr std::size_t kTurns = 9;
constexpr std::size_t kChatBytes = kSystemBytes + kTurns * kTurnBytes;  // 6,000

std::string random_text(Rng& rng, std::size_t length) {
  std::string text(length, ' ');
  for (char& letter : text) {
    letter = static_cast<char>('a' + uniform_index(rng, 26));
  }
  return text;
}

/// `count` whole conversations under one system prompt.
std::vector<std::string> conversations(std::size_t count) {
  Rng rng(1);
  const std::string system = random_text(rng, kSystemBytes);
  std::vector<std::string> all;
  for (std::size_t i = 0; i < count; ++i) {
    all.push_back(system + random_text(rng, kTurns * kTurnBytes));
  }
  return all;
}

std::string_view up_to_turn(const std::string& conversation, std::size_t turn) {
  return std::string_view(conversation).substr(0, kSystemBytes + turn * kTurnBytes);
}

/// A route of `targets` idle targets with a tree of its own.
class Route {
 public:
  Route(std::size_t targets, PrefixTreeLimits limits)
      : tree_(std::make_shared<PrefixTree>(limits)),
        strategy_({}, balance::RoutePrefixes(std::vector(targets, tree_))) {
    for (std::size_t i = 0; i < targets; ++i) {
      Candidate candidate;
      candidate.target = i;
      candidate.replica = ReplicaSlot{static_cast<std::uint32_t>(i)};
      candidates_.push_back(candidate);
    }
  }

  [[nodiscard]] balance::PickInput input(std::string_view text) const {
    balance::PickInput in;
    in.eligible = candidates_;
    in.prompt = {.root = 1, .text = text};
    return in;
  }

  balance::Decision pick(std::string_view text, Rng& rng) {
    return strategy_.pick(input(text), rng, nullptr);
  }

  void record(std::string_view text, const balance::Decision& decision) {
    balance::PickInput in = input(text);
    in.decided = &decision;
    strategy_.record(in, candidates_[decision.target]).keep(TimePoint{});
  }

  void serve(std::string_view text, Rng& rng) { record(text, pick(text, rng)); }

  /// Every turn of every conversation, in turns, as users would have sent them.
  void warm_up(const std::vector<std::string>& chats, Rng& rng) {
    for (std::size_t turn = 1; turn <= kTurns; ++turn) {
      for (const std::string& chat : chats) {
        serve(up_to_turn(chat, turn), rng);
      }
    }
  }

  [[nodiscard]] PrefixTree& tree() { return *tree_; }

 private:
  std::shared_ptr<PrefixTree> tree_;
  balance::CacheAware strategy_;
  std::vector<Candidate> candidates_;
};

/// Bytes the heap has handed out and not got back, its own overhead included.
std::size_t heap_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

void report(benchmark::State& state, const bench::AllocationCounter& allocations) {
  state.SetItemsProcessed(state.iterations());
  allocations.report(state);
}

void BM_Repeat(benchmark::State& state) {
  const std::vector<std::string> chats = conversations(kConversations);
  Rng rng(2);
  Route route(static_cast<std::size_t>(state.range(0)), {});
  route.warm_up(chats, rng);
  std::size_t next = 0;
  const bench::AllocationCounter allocations;
  for (auto _ : state) {
    route.serve(chats[next], rng);
    next = (next + 1) % kConversations;
  }
  report(state, allocations);
}
BENCHMARK(BM_Repeat)->Arg(2)->Arg(16)->Arg(128);

void BM_NextTurn(benchmark::State& state) {
  const std::vector<std::string> chats = conversations(1'024);
  Rng rng(2);
  // Room for an eighth of the conversations, so that each one is new again when its turn comes.
  Route route(static_cast<std::size_t>(state.range(0)), {.max_index_bytes = 128 * kChatBytes});
  std::size_t step = 0;
  const auto serve_next = [&] {
    // 64 conversations advance together, turn by turn; then the next 64.
    const std::size_t group = step / (kConversations * kTurns) * kConversations;
    const std::size_t turn = step / kConversations % kTurns + 1;
    route.serve(up_to_turn(chats[(group + step % kConversations) % chats.size()], turn), rng);
    ++step;
  };
  while (step < chats.size() * kTurns) {
    serve_next();
  }
  const bench::AllocationCounter allocations;
  for (auto _ : state) {
    serve_next();
  }
  report(state, allocations);
}
BENCHMARK(BM_NextTurn)->Arg(2)->Arg(16)->Arg(128);

void BM_Unrelated(benchmark::State& state) {
  Rng rng(2);
  std::vector<std::string> prompts;
  for (int i = 0; i < 512; ++i) {
    prompts.push_back(random_text(rng, kChatBytes));
  }
  Route route(static_cast<std::size_t>(state.range(0)), {.max_index_bytes = 256 * kChatBytes});
  std::size_t next = 0;
  const bench::AllocationCounter allocations;
  for (auto _ : state) {
    route.serve(prompts[next], rng);
    next = (next + 1) % prompts.size();
  }
  report(state, allocations);
}
BENCHMARK(BM_Unrelated)->Arg(2)->Arg(16)->Arg(128);

/// What explain and pipeline ask for: the length for every target.
void BM_MatchAll(benchmark::State& state) {
  const auto targets = static_cast<std::size_t>(state.range(0));
  const std::vector<std::string> chats = conversations(kConversations);
  Rng rng(2);
  Route route(targets, {});
  for (std::size_t i = 0; i < chats.size() * 4; ++i) {
    route.tree().insert(1, chats[i % chats.size()],
                        ReplicaSlot{static_cast<std::uint32_t>(uniform_index(rng, targets))});
  }
  std::vector<ReplicaSlot> replicas;
  for (std::size_t i = 0; i < targets; ++i) {
    replicas.push_back(ReplicaSlot{static_cast<std::uint32_t>(i)});
  }
  std::vector<std::size_t> matched(targets);
  std::size_t next = 0;
  const bench::AllocationCounter allocations;
  for (auto _ : state) {
    route.tree().match(1, chats[next], replicas, matched);
    benchmark::DoNotOptimize(matched.data());
    next = (next + 1) % kConversations;
  }
  report(state, allocations);
}
BENCHMARK(BM_MatchAll)->Arg(2)->Arg(16)->Arg(128);

/// All threads on one tree. p99 is that of a pick while the others pick and record.
void BM_Threads(benchmark::State& state) {
  static std::unique_ptr<Route> route;
  static std::vector<std::string> chats;
  if (state.thread_index() == 0) {
    chats = conversations(kConversations);
    route = std::make_unique<Route>(16, PrefixTreeLimits{});
    Rng rng(2);
    route->warm_up(chats, rng);
  }
  using Clock = std::chrono::steady_clock;
  Rng rng(static_cast<std::uint64_t>(state.thread_index()) + 1);
  auto next = static_cast<std::size_t>(state.thread_index()) * 7;
  std::vector<double> picks_us;
  std::size_t count = 0;
  for (auto _ : state) {
    const std::string& chat = chats[next % kConversations];
    if (count++ % 16 == 0) {
      const Clock::time_point start = Clock::now();
      const balance::Decision decision = route->pick(chat, rng);
      picks_us.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
      route->record(chat, decision);
    } else {
      route->serve(chat, rng);
    }
    ++next;
  }
  state.SetItemsProcessed(state.iterations());
  if (!picks_us.empty()) {
    const auto p99 = picks_us.begin() + static_cast<std::ptrdiff_t>(picks_us.size() * 99 / 100);
    std::ranges::nth_element(picks_us, p99);
    state.counters["pick_p99_us"] = benchmark::Counter(*p99, benchmark::Counter::kAvgThreads);
  }
}
BENCHMARK(BM_Threads)->UseRealTime()->Threads(1)->Threads(2)->Threads(8);

/// Memory of many prompts that share prefixes: conversations of four turns under 100 system
/// prompts, each turn recorded as it came.
void BM_Memory(benchmark::State& state) {
  const auto prompts = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) {
    Rng rng(3);
    std::vector<std::string> systems;
    for (int i = 0; i < 100; ++i) {
      systems.push_back(random_text(rng, kSystemBytes));
    }
    const std::size_t before = heap_bytes();
    PrefixTree tree({.max_nodes_per_replica = 0, .max_index_bytes = 0});
    double marked_bytes = 0;
    for (std::size_t i = 0; i < prompts / 4; ++i) {
      std::string chat = systems[uniform_index(rng, systems.size())];
      const ReplicaSlot replica{static_cast<std::uint32_t>(uniform_index(rng, 16))};
      for (int turn = 0; turn < 4; ++turn) {
        chat += random_text(rng, 100 + uniform_index(rng, 300));
        (void)tree.insert(1, chat, replica);
      }
    }
    for (std::uint32_t replica = 0; replica < 16; ++replica) {
      marked_bytes += static_cast<double>(tree.held_bytes(ReplicaSlot{replica}));
    }
    const auto held = static_cast<double>(heap_bytes() - before);
    const kvcache::PrefixTreeStats stats = tree.stats();
    const auto text = static_cast<double>(stats.text_bytes);
    const auto nodes = static_cast<double>(stats.nodes);
    const auto marks = static_cast<double>(stats.marks);
    state.counters["bytes/marked_byte"] = held / marked_bytes;
    state.counters["of_target"] = held / (1.5 * text + 64 * nodes + 16 * marks);
    state.counters["overhead/node"] = (held - text) / nodes;
    state.counters["overhead/mark"] = (held - text) / marks;
    state.counters["charged/held"] = static_cast<double>(stats.index_bytes) / held;
    state.counters["MB"] = held / 1e6;
  }
}
BENCHMARK(BM_Memory)->Arg(10'000)->Arg(1'000'000)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace rolter
