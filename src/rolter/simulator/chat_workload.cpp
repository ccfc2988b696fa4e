#include "rolter/simulator/chat_workload.h"

#include "rolter/simulator/json_writer.h"

namespace rolter::simulator {
namespace {

constexpr std::size_t kShortestWord = 2;
constexpr std::size_t kLongestWord = 8;

std::string random_words(Rng& rng, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) {
      text.push_back(' ');
    }
    const std::size_t length = kShortestWord + uniform_index(rng, kLongestWord - kShortestWord + 1);
    for (std::size_t letter = 0; letter < length; ++letter) {
      text.push_back(static_cast<char>('a' + uniform_index(rng, 26)));
    }
  }
  return text;
}

}  // namespace

ChatWorkload::ChatWorkload(const ChatShape& shape, std::uint64_t seed) : shape_(shape) {
  Rng rng(seed);
  for (std::size_t i = 0; i < shape.system_prompts; ++i) {
    system_prompts_.push_back(random_words(rng, shape.system_words));
  }
}

Turn ChatWorkload::system_turn(Rng& rng) const {
  return {"system", system_prompts_[uniform_index(rng, system_prompts_.size())]};
}

Turn ChatWorkload::question(Rng& rng) const {
  // Half to one and a half times the usual length.
  const std::size_t words =
      shape_.question_words / 2 + uniform_index(rng, shape_.question_words + 1);
  return {"user", random_words(rng, words)};
}

std::string ChatWorkload::request_body(const std::string& model,
                                       const std::vector<Turn>& turns) const {
  JsonWriter json;
  json.object().text("model", model).flag("stream", true);
  json.number("max_tokens", shape_.reply_tokens).array("messages");
  for (const Turn& turn : turns) {
    json.object().text("role", turn.role).text("content", turn.text).end();
  }
  return json.end().end().take();
}

}  // namespace rolter::simulator
