#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "rolter/openai/request_view.h"

namespace rolter::openai {

/// Token counts as the engine reported them. cached_tokens is absent when the engine does not say
/// (vLLM without --enable-prompt-tokens-details), which is not the same as zero. On /v1/messages
/// prompt_tokens is input_tokens plus the cached ones (vLLM 0.32 reports them apart).
struct Usage {
  std::uint64_t prompt_tokens = 0;
  std::uint64_t completion_tokens = 0;
  std::optional<std::uint64_t> cached_tokens;
};

/// Looks at a copy of an answer as it passes: when content begins, how it ends, what it cost. It
/// never changes, delays or fails the answer; what it cannot read it ignores. Memory is bounded by
/// 64 KiB and the reply's text: longer events are read as they pass.
class AnswerObserver {
 public:
  virtual ~AnswerObserver() = default;

  /// Body bytes after de-chunking, cut anywhere.
  virtual void feed(std::string_view bytes) = 0;

  /// True from the first event that carries content for the client: text, tool call, reasoning,
  /// an error, or a comment. Role-only chunks and empty deltas are not content.
  [[nodiscard]] virtual bool saw_content() const = 0;

  /// True once a whole end marker was seen ("data: [DONE]", message_stop, response.completed),
  /// anchored at a line; for a JSON body: once it is complete.
  [[nodiscard]] virtual bool saw_end() const = 0;

  /// finish_reason "abort" with no content so far: what a draining vLLM answers (0.32). On
  /// /v1/messages and /v1/responses, which do not say so: an end without content or output tokens.
  [[nodiscard]] virtual bool is_empty_abort() const = 0;

  [[nodiscard]] virtual std::optional<Usage> usage() const = 0;

  /// The id of a /v1/responses answer, "" until known.
  [[nodiscard]] virtual std::string_view response_id() const = 0;

  /// What the reply adds to the prompt of the conversation's next request, after the byte 0xFA that
  /// begins an assistant's turn (see PromptText): the first choice's text and tool calls. Of an
  /// answer of /v1/responses it is known only at its end. "" unless asked for.
  [[nodiscard]] virtual std::string_view reply_text() const = 0;
};

struct ObserverOptions {
  /// How much of the reply's text to keep; 0 = none, which lets most chunks pass unread.
  std::size_t reply_bytes = 0;
};

/// For text/event-stream bodies: LF, CRLF and bare CR line ends, data with and without the space,
/// events cut anywhere (WHATWG HTML, server-sent events).
[[nodiscard]] std::unique_ptr<AnswerObserver> make_sse_observer(Endpoint endpoint,
                                                                ObserverOptions options = {});

/// For JSON bodies: reads them as they pass and keeps nothing of them.
[[nodiscard]] std::unique_ptr<AnswerObserver> make_json_observer(Endpoint endpoint,
                                                                 ObserverOptions options = {});

}  // namespace rolter::openai
