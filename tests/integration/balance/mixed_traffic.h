#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "rolter/base/ids.h"
#include "rolter/simulator/chat_template.h"

namespace rolter::runtime {

/// A request with the token ids of its prompt, which a client that has the engines' tokenizer
/// knows.
struct MixedRequest {
  std::string path;
  std::string body;
  std::string ids;           // as x-rolter-vllm-token-ids has them; "" = the prompt is ids itself
  std::size_t talk = kNone;  // the conversation it belongs to

  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
};

/// What callers of one model do: conversations that grow turn by turn, several of them under one
/// system prompt, some under a cache_salt, some streamed; prompts of token ids with common
/// beginnings; and requests that come again as they were. No conversation asks twice in a row,
/// since people read before they answer.
class MixedTraffic {
 public:
  explicit MixedTraffic(std::uint64_t seed) : random_(seed), talks_(kTalks) {}

  [[nodiscard]] MixedRequest next();

  /// The reply in `body`, a JSON answer or a stream, becomes part of its conversation.
  void answered(const MixedRequest& request, std::string_view body);

 private:
  static constexpr std::size_t kTalks = 12;
  static constexpr std::size_t kSystemPrompts = 3;
  static constexpr std::size_t kMostTurns = 14;
  static constexpr std::size_t kRemembered = 20;

  struct Talk {
    std::vector<simulator::Turn> turns;
    std::string salt;
    bool streamed = false;
  };

  [[nodiscard]] std::size_t below(std::size_t bound) { return random_() % bound; }
  [[nodiscard]] std::string words(std::size_t count);
  [[nodiscard]] MixedRequest turn_of_a_talk();
  [[nodiscard]] MixedRequest prompt_of_ids();
  void begin(std::size_t talk);

  std::mt19937_64 random_;
  std::vector<Talk> talks_;
  std::size_t last_talk_ = 0;
  std::deque<MixedRequest> sent_;  // the last ones, newest at the back
};

}  // namespace rolter::runtime
