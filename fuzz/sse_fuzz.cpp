// Answers: the first byte chooses endpoint and framing, the second how the bytes are cut, the rest
// is the answer. However it is cut, an observer tells the same.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "rolter/openai/stream_observer.h"

namespace {

using rolter::openai::AnswerObserver;
using rolter::openai::Endpoint;
using rolter::openai::ObserverOptions;

constexpr std::array kEndpoints = {Endpoint::kChatCompletions, Endpoint::kCompletions,
                                   Endpoint::kResponses, Endpoint::kMessages,
                                   Endpoint::kEmbeddings};

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

std::unique_ptr<AnswerObserver> make(std::uint8_t choice, std::size_t reply_bytes) {
  const Endpoint endpoint = kEndpoints[choice / 2 % kEndpoints.size()];
  const ObserverOptions options{.reply_bytes = reply_bytes};
  return choice % 2 == 0 ? rolter::openai::make_sse_observer(endpoint, options)
                         : rolter::openai::make_json_observer(endpoint, options);
}

/// Feeds pieces of sizes drawn from `seed`, each from memory of its own.
void feed_cut(AnswerObserver& observer, std::string_view bytes, std::uint32_t seed) {
  while (!bytes.empty()) {
    seed = seed * 1664525 + 1013904223;
    const std::size_t size = std::min<std::size_t>(bytes.size(), 1 + (seed >> 16) % 9);
    observer.feed(std::string(bytes.substr(0, size)));
    bytes.remove_prefix(size);
  }
}

void require_same_facts(const AnswerObserver& left, const AnswerObserver& right) {
  require(left.saw_content() == right.saw_content());
  require(left.saw_end() == right.saw_end());
  require(left.is_empty_abort() == right.is_empty_abort());
  require(left.response_id() == right.response_id());
  require(left.usage().has_value() == right.usage().has_value());
  if (left.usage()) {
    require(left.usage()->prompt_tokens == right.usage()->prompt_tokens);
    require(left.usage()->completion_tokens == right.usage()->completion_tokens);
    require(left.usage()->cached_tokens == right.usage()->cached_tokens);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) {
    return 0;
  }
  const std::string_view answer(reinterpret_cast<const char*>(data + 2), size - 2);
  const auto whole = make(data[0], 0);
  whole->feed(answer);
  const auto cut = make(data[0], 0);
  feed_cut(*cut, answer, data[1]);
  require_same_facts(*whole, *cut);

  const std::size_t limit = data[1] % 64 + std::size_t{1};
  const auto whole_reply = make(data[0], limit);
  whole_reply->feed(answer);
  const auto cut_reply = make(data[0], limit);
  feed_cut(*cut_reply, answer, data[1] + 1U);
  require_same_facts(*whole, *whole_reply);
  require_same_facts(*whole, *cut_reply);
  require(whole_reply->reply_text() == cut_reply->reply_text());
  require(whole_reply->reply_text().size() <= limit);
  return 0;
}
