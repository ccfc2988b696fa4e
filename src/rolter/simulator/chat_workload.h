#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "rolter/base/random.h"
#include "rolter/simulator/chat_template.h"

namespace rolter::simulator {

/// Multi-turn chat as assistants see it: a few long system prompts that many users share, and
/// conversations that grow by a question and an answer per turn.
struct ChatShape {
  std::size_t system_prompts = 24;
  std::size_t system_words = 200;  // a word is about two tokens
  std::size_t question_words = 100;
  std::size_t turns = 10;
  std::size_t reply_tokens = 48;
};

/// Makes questions by a seed: the same seed gives the same texts. Text is words of two to eight
/// lower-case letters.
class ChatWorkload {
 public:
  ChatWorkload(const ChatShape& shape, std::uint64_t seed);

  [[nodiscard]] const ChatShape& shape() const { return shape_; }

  /// The first turn of a new conversation: one of the system prompts, drawn by `rng`.
  [[nodiscard]] Turn system_turn(Rng& rng) const;
  [[nodiscard]] Turn question(Rng& rng) const;

  /// The body of the request that asks for the reply to these turns, streamed.
  [[nodiscard]] std::string request_body(const std::string& model,
                                         const std::vector<Turn>& turns) const;

 private:
  ChatShape shape_;
  std::vector<std::string> system_prompts_;
};

}  // namespace rolter::simulator
