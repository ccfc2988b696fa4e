#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace rolter::proxy {

/// A request whose engine does not tell which blocks it became.
struct UnlearnedPrompt {
  std::string route;  // its model
  std::string model;  // as the target knows it
  std::string body;   // as it was sent there: a chat, or a completion of one text
  std::string cache_salt;
  bool by_adapter = false;       // the model may be an adapter's name
  std::uint32_t block_size = 0;  // tokens
  std::uint64_t ticket = 0;      // kvcache::LearnedChains::Ticket
};

/// Prompts that wait for a tokenizer. Bounded: what finds no room is not learned. Any thread.
class UnlearnedPrompts {
 public:
  static constexpr std::size_t kMostPrompts = 256;
  static constexpr std::size_t kMostBytes = std::size_t{8} << 20;

  /// Whom to tell that there is something, from any thread; before anything is offered.
  void on_offer(std::function<void()> ring) { ring_ = std::move(ring); }

  void offer(UnlearnedPrompt prompt);
  [[nodiscard]] std::optional<UnlearnedPrompt> take();

  [[nodiscard]] std::uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }

 private:
  std::function<void()> ring_;
  std::mutex mutex_;
  std::deque<UnlearnedPrompt> prompts_;
  std::size_t bytes_ = 0;
  std::atomic<std::uint64_t> refused_{0};
};

}  // namespace rolter::proxy
