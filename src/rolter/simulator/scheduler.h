#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "rolter/simulator/kv_cache.h"
#include "rolter/simulator/sequence.h"

namespace rolter::simulator {

struct SchedulerLimits {
  std::uint32_t blocks = 8192;  // vLLM's num_gpu_blocks, the null block included
  std::uint32_t block_size = 16;
  std::size_t max_running = 256;        // --max-num-seqs
  std::size_t max_step_tokens = 2048;   // --max-num-batched-tokens: the prefill chunk
  std::size_t max_model_len = 131'072;  // prompt and reply together
  BlockHash root_hash = kDefaultRootHash;
};

/// What one step computes.
struct StepPlan {
  struct Part {
    SequenceId sequence{};
    std::size_t tokens = 0;
  };
  std::vector<Part> parts;
  std::size_t prefill_tokens = 0;
  std::size_t decoding = 0;  // sequences that compute the one token they sampled last

  [[nodiscard]] bool empty() const { return parts.empty(); }
};

/// When sampled tokens are computed further. All zero: in every step.
struct DecodePace {
  Duration interval{};       // between two tokens of a sequence
  Duration slack{};          // that a token may come early, so that sequences share steps
  Duration prefill_token{};  // a decode that falls due while a step prefills goes along with it
};

/// A token sampled at the end of a step.
struct Sampled {
  SequenceId sequence{};
  TokenId token = 0;
  std::size_t prompt_tokens = 0;
  std::size_t hit_tokens = 0;  // of the prompt, found in the prefix cache
  std::optional<FinishReason> finish;
};

struct SchedulerStats {
  std::size_t running = 0;
  std::size_t waiting = 0;
  double kv_usage = 0.0;
  std::uint64_t preemptions = 0;
  std::uint64_t prompt_tokens = 0;            // of sequences that have been scheduled
  std::uint64_t hit_tokens = 0;               // of these, found in the prefix cache
  std::uint64_t computed_prefill_tokens = 0;  // recomputation after preemption included
  std::uint64_t generated_tokens = 0;
  std::uint64_t finished_stop = 0;
  std::uint64_t finished_length = 0;
  std::uint64_t aborted = 0;
};

/// vLLM's V1 scheduler (0.32) without the model: continuous batching with a token budget per step,
/// chunked prefill, first come first served, preemption of the youngest when blocks run out. A step
/// is schedule() (blocks are reserved and become findable), the time the model takes, complete()
/// (tokens are sampled). Single thread.
class Scheduler {
 public:
  explicit Scheduler(const SchedulerLimits& limits, const DecodePace& pace = {});

  /// Queues a sequence. Its prompt must fit: 1 <= tokens < context_limit().
  void add(std::unique_ptr<Sequence> sequence);

  /// Takes a sequence out; what it has computed stays in the prefix cache. Between steps only.
  void abort(SequenceId id);

  /// What a step that begins at `now` computes; empty when there is nothing, or only decodes that
  /// are not due. complete() must follow a plan that is not.
  [[nodiscard]] StepPlan schedule(TimePoint now);
  [[nodiscard]] std::vector<Sampled> complete(const StepPlan& plan, TimePoint end);

  /// When the first decode is due; nothing when none waits.
  [[nodiscard]] std::optional<TimePoint> next_decode() const;

  enum class ResetRunning : std::uint8_t { kNo, kYes };
  /// POST /reset_prefix_cache: false while blocks are in use, unless running sequences may be put
  /// back to the queue. Between steps only.
  [[nodiscard]] bool reset_prefix_cache(ResetRunning running);

  [[nodiscard]] std::vector<KvEvent> take_events() { return cache_.take_events(); }
  [[nodiscard]] bool idle() const { return running_.empty() && waiting_.empty(); }
  [[nodiscard]] std::size_t unfinished() const { return running_.size() + waiting_.size(); }
  [[nodiscard]] SchedulerStats stats() const;

  /// Longest prompt and reply together: the model's, or all of the KV cache if that is less.
  [[nodiscard]] std::size_t context_limit() const;

 private:
  using SequencePtr = std::unique_ptr<Sequence>;

  [[nodiscard]] TimePoint decode_horizon(TimePoint now) const;
  void schedule_running(StepPlan& plan, std::size_t& budget, TimePoint decode_horizon);
  void schedule_waiting(StepPlan& plan, std::size_t& budget);
  [[nodiscard]] bool make_room_for(std::size_t position, std::size_t tokens);
  void preempt_last();
  void plan_part(StepPlan& plan, Sequence& sequence, std::size_t tokens);
  [[nodiscard]] Sampled sample(Sequence& sequence, TimePoint now);

  SchedulerLimits limits_;
  DecodePace pace_;
  KvCache cache_;
  std::vector<SequencePtr> running_;  // in the order they were admitted
  std::deque<SequencePtr> waiting_;
  bool preempted_this_step_ = false;
  SchedulerStats totals_;
};

}  // namespace rolter::simulator
