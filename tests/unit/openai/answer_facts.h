#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "rolter/openai/stream_observer.h"

namespace rolter::openai {

inline bool operator==(const Usage& left, const Usage& right) {
  return left.prompt_tokens == right.prompt_tokens &&
         left.completion_tokens == right.completion_tokens &&
         left.cached_tokens == right.cached_tokens;
}

/// Everything an observer can tell.
struct Facts {
  bool content = false;
  bool end = false;
  bool empty_abort = false;
  std::optional<Usage> usage = {};
  std::string response_id = {};
  std::string reply = {};
  bool operator==(const Facts&) const = default;
};

inline std::ostream& operator<<(std::ostream& out, const Facts& facts) {
  out << "content " << facts.content << " end " << facts.end << " abort " << facts.empty_abort;
  if (facts.usage) {
    out << " prompt " << facts.usage->prompt_tokens << " completion "
        << facts.usage->completion_tokens << " cached "
        << static_cast<std::int64_t>(facts.usage->cached_tokens.value_or(-1));
  }
  return out << " id '" << facts.response_id << "' reply '" << facts.reply << "'";
}

enum class Framing : std::uint8_t { kSse, kJson };

constexpr std::size_t kPlenty = 1'000'000;

inline std::unique_ptr<AnswerObserver> make(Framing framing, Endpoint endpoint,
                                            std::size_t reply_bytes) {
  const ObserverOptions options{.reply_bytes = reply_bytes};
  return framing == Framing::kSse ? make_sse_observer(endpoint, options)
                                  : make_json_observer(endpoint, options);
}

inline Facts facts_of(const AnswerObserver& observer) {
  return {.content = observer.saw_content(),
          .end = observer.saw_end(),
          .empty_abort = observer.is_empty_abort(),
          .usage = observer.usage(),
          .response_id = std::string(observer.response_id()),
          .reply = std::string(observer.reply_text())};
}

inline Facts observe_pieces(Framing framing, Endpoint endpoint,
                            const std::vector<std::string>& pieces,
                            std::size_t reply_bytes = kPlenty) {
  const auto observer = make(framing, endpoint, reply_bytes);
  for (const auto& piece : pieces) {
    observer->feed(std::string(piece));  // its own memory: a view that is kept too long is seen
  }
  return facts_of(*observer);
}

inline Facts observe(Framing framing, Endpoint endpoint, const std::string& bytes,
                     std::size_t reply_bytes = kPlenty) {
  return observe_pieces(framing, endpoint, {bytes}, reply_bytes);
}

/// However the bytes are cut in two, and whether or not the reply is kept, the facts are the same.
inline void expect_same_however_cut(Framing framing, Endpoint endpoint, const std::string& bytes) {
  const Facts whole = observe(framing, endpoint, bytes);
  Facts without_reply = whole;
  without_reply.reply.clear();
  EXPECT_EQ(observe(framing, endpoint, bytes, 0), without_reply);
  std::vector<std::string> single_bytes;
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    const std::vector<std::string> pieces{bytes.substr(0, cut), bytes.substr(cut)};
    if (cut % 2 == 0) {
      ASSERT_EQ(observe_pieces(framing, endpoint, pieces), whole) << "cut at " << cut;
    } else {
      ASSERT_EQ(observe_pieces(framing, endpoint, pieces, 0), without_reply) << "cut at " << cut;
    }
    if (cut < bytes.size()) {
      single_bytes.push_back(bytes.substr(cut, 1));
    }
  }
  EXPECT_EQ(observe_pieces(framing, endpoint, single_bytes), whole);
  EXPECT_EQ(observe_pieces(framing, endpoint, single_bytes, 0), without_reply);
}

/// One chunk of /v1/chat/completions or /v1/completions.
inline std::string chunk(const std::string& choices, const std::string& more = "") {
  return R"(data: {"id":"c","object":"chat.completion.chunk","choices":)" + choices + more +
         "}\n\n";
}

inline std::string delta(const std::string& members) {
  return chunk(R"([{"index":0,"delta":{)" + members +
               R"(},"logprobs":null,"finish_reason":null}])");
}

}  // namespace rolter::openai
