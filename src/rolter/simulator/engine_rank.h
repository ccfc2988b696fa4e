#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <absl/container/flat_hash_map.h>

#include "rolter/http/loop.h"
#include "rolter/simulator/engine_core.h"
#include "rolter/simulator/kv_publisher.h"
#include "rolter/simulator/wakeup.h"

namespace rolter::simulator {

/// Who waits for a sequence's tokens. Must outlive the sequence, or abort it.
class TokenSink {
 public:
  virtual ~TokenSink() = default;
  virtual void on_sampled(const Sampled& token) = 0;
  virtual void on_engine_died() = 0;
};

/// One data-parallel rank of an engine in real time: an EngineCore of its own, driven by its loop's
/// clock, and a publisher of its KV events. One loop.
class EngineRank {
 public:
  EngineRank(http::Loop& loop, std::uint32_t rank, const SchedulerLimits& limits,
             const EngineSpeed& speed);

  /// `publisher` may be null.
  void publish_to(std::unique_ptr<KvPublisher> publisher) { publisher_ = std::move(publisher); }

  /// Takes the steps as they end, until stop().
  [[nodiscard]] http::Task<> run();

  SequenceId submit(SequenceSpec spec, TokenSink& sink);

  /// The sink hears nothing more of it.
  void abort(SequenceId id);

  [[nodiscard]] bool reset_prefix_cache(Scheduler::ResetRunning running);

  /// No step ends any more: the engine's process is gone, and whoever waits goes on waiting.
  void halt();

  /// halt(), and tells everyone who waits.
  void die();

  void stop();

  [[nodiscard]] SchedulerStats stats() const { return core_.stats(); }
  [[nodiscard]] std::size_t unfinished() const { return core_.unfinished(); }
  [[nodiscard]] std::size_t context_limit() const { return core_.context_limit(); }
  [[nodiscard]] const KvPublisher* publisher() const { return publisher_.get(); }

 private:
  [[nodiscard]] bool take_due_steps();
  void deliver(StepResult& result);

  http::Loop& loop_;
  std::uint32_t rank_;
  EngineCore core_;
  std::unique_ptr<KvPublisher> publisher_;
  absl::flat_hash_map<SequenceId, TokenSink*> sinks_;
  Wakeup work_;
  bool halted_ = false;
  bool stopped_ = false;
};

}  // namespace rolter::simulator
