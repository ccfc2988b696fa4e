#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "rolter/openai/answer_scanner.h"
#include "rolter/openai/reply_text.h"
#include "rolter/openai/stream_observer.h"

namespace rolter::openai {

/// What an answer is made of: the shapes of its chunks or of its body.
enum class AnswerFamily : std::uint8_t {
  kChat,       // chat and text completions: choices with delta, message or text
  kMessages,   // Anthropic
  kResponses,  // /v1/responses
  kOther,      // embeddings, scores, tokens, speech: any byte is content
};

[[nodiscard]] AnswerFamily family_of(Endpoint endpoint);

/// Whether an answer is one JSON text or a stream of events, each of them one.
enum class AnswerForm : std::uint8_t { kBody, kEvents };

/// Collects the facts of AnswerObserver from the JSON of a body or of the events of a stream.
class AnswerReader final : private AnswerScanner::Listener {
 public:
  AnswerReader(AnswerFamily family, AnswerForm form, ObserverOptions options)
      : family_(family), form_(form), reply_(options.reply_bytes), scanner_(*this) {}

  /// Bytes of the current JSON text.
  void feed(std::string_view bytes) { scanner_.feed(bytes); }
  /// The next JSON text begins.
  void restart();
  /// An event's whole JSON text, unless nothing new can be in it.
  void read_event(std::string_view event);
  [[nodiscard]] bool complete() const { return scanner_.complete(); }

  void note_content() { content_ = true; }
  void note_end() { end_ = true; }

  [[nodiscard]] bool saw_content() const { return content_; }
  [[nodiscard]] bool saw_end() const { return end_; }
  [[nodiscard]] bool is_empty_abort() const;
  [[nodiscard]] std::optional<Usage> usage() const;
  [[nodiscard]] std::string_view response_id() const { return response_id_; }
  [[nodiscard]] std::string_view reply_text() const { return reply_.view(); }

 private:
  /// Counts as they came; on /v1/messages prompt tokens do not include those read from the cache.
  struct Counts {
    std::uint64_t prompt = 0;
    std::uint64_t completion = 0;
    std::optional<std::uint64_t> cached;
    std::optional<std::uint64_t> cache_read;
    std::uint64_t cache_creation = 0;
  };

  [[nodiscard]] bool can_skip(std::string_view event) const;
  void on_open(AnswerWord word) override;
  void on_close() override;
  bool wants_text(AnswerWord word) override;
  void on_text(std::string_view escaped) override { reply_.add_escaped(escaped); }
  void on_string(AnswerWord word, std::string_view escaped) override;
  void on_scalar(AnswerWord word, std::string_view text) override;

  [[nodiscard]] bool is_outermost() const;
  [[nodiscard]] bool opens_payload(AnswerWord word) const;
  [[nodiscard]] bool is_reply_text(AnswerWord word) const;
  [[nodiscard]] bool is_reply_call(AnswerWord word) const;
  [[nodiscard]] bool is_response_id() const;
  [[nodiscard]] bool is_end(std::string_view type) const;
  void on_plain_string(AnswerWord word, std::string_view escaped);
  void read_count(AnswerWord word, std::uint64_t count);

  /// Where the innermost container lies within the payload: 0 = it is the payload's own.
  [[nodiscard]] std::size_t level() const { return scanner_.depth() - payload_depth_; }

  AnswerFamily family_;
  AnswerForm form_;
  ReplyText reply_;
  AnswerScanner scanner_;
  bool content_ = false;
  bool end_ = false;
  bool aborted_ = false;
  bool has_usage_ = false;
  bool wanted_ = false;            // the string being read belongs to the reply
  std::uint64_t choice_ = 0;       // index of the choice being read
  std::size_t payload_depth_ = 0;  // of the container with what the client waits for; 0 = none
  std::size_t field_level_ = 0;    // where its texts lie: 1 in a list of items, else 0
  std::size_t usage_depth_ = 0;    // of the usage object; 0 = none
  Counts counts_;
  std::string response_id_;
};

}  // namespace rolter::openai
