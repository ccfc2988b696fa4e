#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "rolter/simulator/engine_rank.h"

namespace rolter::simulator {

/// One of the answers to a request (n = 2 and two prompts make two each).
struct Choice {
  SequenceId sequence{};
  std::vector<TokenId> tokens;  // sampled so far, the end token included
  std::size_t told = 0;         // of these, those a stream has sent
  std::size_t prompt_tokens = 0;
  std::size_t hit_tokens = 0;
  std::optional<FinishReason> finish;
};

struct TokenCounts {
  std::size_t prompt = 0;      // each prompt once
  std::size_t completion = 0;  // of all choices
  std::size_t hit = 0;         // of the choice that was scheduled last (vLLM overstates n > 1 so)
};

/// What one HTTP request waits for. Destruction cancels what still runs. One loop.
class Generation final : public TokenSink {
 public:
  Generation(http::Loop& loop, EngineRank& rank);
  ~Generation() override { cancel(); }
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;

  /// Adds a choice and queues it in the engine.
  void start(SequenceSpec spec);

  /// Adds a choice that ends at once with "abort" and no token: what a draining vLLM answers.
  void refuse(std::size_t prompt_tokens);

  /// Until there is something new: tokens, an end, cancel().
  [[nodiscard]] http::Task<> wait() { return news_.wait(); }

  /// The client is gone.
  void cancel();

  [[nodiscard]] bool cancelled() const { return cancelled_; }
  [[nodiscard]] bool engine_died() const { return engine_died_; }
  [[nodiscard]] bool done() const { return unfinished_ == 0; }
  [[nodiscard]] bool has_tokens() const;
  [[nodiscard]] std::span<Choice> choices() { return choices_; }
  [[nodiscard]] std::span<const Choice> choices() const { return choices_; }
  [[nodiscard]] TokenCounts counts(std::size_t choices_per_prompt) const;

  void on_sampled(const Sampled& token) override;
  void on_engine_died() override;

 private:
  EngineRank& rank_;
  Wakeup news_;
  std::vector<Choice> choices_;
  std::size_t unfinished_ = 0;
  bool cancelled_ = false;
  bool engine_died_ = false;
};

}  // namespace rolter::simulator
