#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "rolter/feeds/http_get.h"
#include "rolter/feeds/poll_problems.h"
#include "rolter/http/bell.h"
#include "rolter/kvcache/learned_chains.h"
#include "rolter/proxy/gateway_state.h"
#include "rolter/proxy/unlearned_prompts.h"
#include "rolter/runtime/loop_thread.h"
#include "rolter/telemetry/app_log.h"

namespace rolter::runtime {

/// Has prompts tokenized by the engines themselves (POST /tokenize), where their events do not say
/// what became of a request: vLLM before 0.30. One at a time, at most [index] tokenize_per_sec of
/// them, at the least busy target of the same model. No request waits for it. On the control loop.
class Tokenizing {
 public:
  using CurrentState = std::function<std::shared_ptr<const proxy::GatewayState>()>;

  /// All must outlive it.
  Tokenizing(LoopThread& control, telemetry::AppLog& log, kvcache::LearnedChains& learned,
             CurrentState state);

  /// From now on; `queue` must outlive the control loop. Any thread.
  void start(proxy::UnlearnedPrompts& queue);
  /// On the control loop.
  void stop();

  /// Prompts that no engine would tokenize. Any thread.
  [[nodiscard]] std::uint64_t failed() const { return failed_.load(std::memory_order_relaxed); }

 private:
  [[nodiscard]] http::Task<> work(proxy::UnlearnedPrompts& queue);
  [[nodiscard]] http::Task<> learn(proxy::UnlearnedPrompt prompt);
  [[nodiscard]] std::optional<std::size_t> least_busy(const proxy::GatewayState& state,
                                                      const proxy::UnlearnedPrompt& prompt,
                                                      TimePoint now) const;
  void note(const std::string& provider, const std::string& problem);

  LoopThread& control_;
  kvcache::LearnedChains& learned_;
  CurrentState state_;
  http::Bell bell_;
  feeds::HttpGet asking_;
  feeds::PollProblems problems_;
  std::map<std::string, TimePoint> rests_;  // after a failure: who cannot, cannot for a while
  bool stopped_ = false;
  std::atomic<std::uint64_t> failed_{0};
};

}  // namespace rolter::runtime
