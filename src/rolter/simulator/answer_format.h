#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "rolter/simulator/engine_service.h"
#include "rolter/simulator/exchange.h"
#include "rolter/simulator/generation.h"

namespace rolter::simulator {

/// How one API writes an answer.
class AnswerFormat {
 public:
  virtual ~AnswerFormat() = default;

  /// The body of an answer that is not streamed.
  [[nodiscard]] virtual std::string whole(const Generation& generation) = 0;

  /// A stream's events, one string each with its blank line: before the first token of any choice,
  /// for the token at `position` of a choice, and at the end.
  [[nodiscard]] virtual std::vector<std::string> begin(const Generation& generation) = 0;
  [[nodiscard]] virtual std::vector<std::string> token(const Generation& generation,
                                                       std::size_t choice,
                                                       std::size_t position) = 0;
  [[nodiscard]] virtual std::vector<std::string> finish(const Generation& generation) = 0;
};

/// Sends the answer as the request wants it and cancels the generation when the client leaves.
/// `format` and what `generation` points to belong to the caller, who awaits.
[[nodiscard]] http::Task<> send_answer(EngineService& service, Exchange& exchange,
                                       Generation& generation, AnswerFormat& format, bool stream);

/// What the whole answer and the last events have in common.
[[nodiscard]] std::string_view finish_word(FinishReason reason);
[[nodiscard]] std::string text_of(const Choice& choice);
[[nodiscard]] std::string text_of_token(TokenId token);
[[nodiscard]] std::string data_event(const std::string& json);
[[nodiscard]] std::string named_event(std::string_view name, const std::string& json);

}  // namespace rolter::simulator
