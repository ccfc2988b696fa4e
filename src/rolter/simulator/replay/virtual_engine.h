#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "rolter/base/time.h"
#include "rolter/simulator/replay/prefix_cache.h"
#include "rolter/simulator/trace.h"

namespace rolter::simulator::replay {

/// A replica as the routing studies model it: prompts are prefilled one after the other as they
/// came, decoding is unlimited.
struct EngineShape {
  std::size_t blocks = 2'000;  // of the prefix cache, 512 tokens each
  double prefill_tps = 12'000.0;
  Duration prefill_overhead = std::chrono::milliseconds(20);  // per prompt
  Duration per_token = std::chrono::milliseconds(25);         // generated
};

/// A request of the run: dense, from 0 on.
using RequestId = std::uint32_t;

/// What the engine takes from its cache when so many leading blocks are resident: it computes at
/// least the last token.
[[nodiscard]] std::size_t hit_tokens(const TraceCall& call, std::size_t leading_blocks);

/// One replica in virtual time. It looks prompts up, and makes them resident, when their prefill
/// starts.
class VirtualEngine {
 public:
  VirtualEngine(const EngineShape& shape, std::size_t known_blocks);

  // ---- the truth, for policies that are allowed to know it ----

  [[nodiscard]] const PrefixCache& cache() const { return cache_; }
  /// Leading blocks that will be resident once the prompts waiting here have started.
  [[nodiscard]] std::size_t expected_blocks(std::span<const BlockId> chain) const;
  /// Time to prefill so many tokens.
  [[nodiscard]] Duration prefill_time(std::size_t tokens) const;
  /// Until all that is here has been prefilled; of what waits the uncached part is what it was
  /// expected to be on arrival.
  [[nodiscard]] Duration queue_time(TimePoint now) const;
  /// The same in tokens.
  [[nodiscard]] double queued_tokens(TimePoint now) const;
  /// Requests from arrival to the last token.
  [[nodiscard]] std::uint32_t in_flight() const { return in_flight_; }
  /// Blocks of prompts in flight, counted once per prompt.
  [[nodiscard]] std::size_t active_blocks() const { return active_blocks_; }

  // ---- what happens ----

  void arrive(RequestId request, const TraceCall& call);

  [[nodiscard]] bool can_start() const { return !computing_ && !waiting_.empty(); }

  struct Prefill {
    RequestId request = 0;
    std::size_t hit_blocks = 0;
    std::size_t computed_tokens = 0;
    TimePoint ends_at{};
  };
  /// Starts the prompt that has waited longest. Only when can_start().
  Prefill start(TimePoint now, CacheChange& change);
  void prefilled() { computing_ = false; }
  /// The answer has ended: with the prompt before it, it is what was used last.
  void finish(const TraceCall& call, CacheChange& change);

 private:
  struct Waiting {
    RequestId request;
    const TraceCall* call;
    std::size_t uncached_tokens;  // expected
    Duration time;                // likewise
  };

  EngineShape shape_;
  PrefixCache cache_;
  std::deque<Waiting> waiting_;
  std::vector<std::uint16_t> awaited_;  // per block: prompts waiting that have it
  Duration waiting_time_{};
  std::size_t waiting_tokens_ = 0;
  TimePoint busy_until_{};
  std::uint32_t in_flight_ = 0;
  std::size_t active_blocks_ = 0;
  bool computing_ = false;
};

/// The prompt and its answer, as the engine keeps them.
[[nodiscard]] std::vector<BlockId> whole_chain(const TraceCall& call);

}  // namespace rolter::simulator::replay
