#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rolter/base/error.h"
#include "rolter/openai/prompt.h"

namespace rolter::openai {

/// The APIs whose requests are routed by the model named in the body.
enum class Endpoint : std::uint8_t {
  kChatCompletions,
  kCompletions,
  kResponses,
  kMessages,             // Anthropic, served by vLLM itself
  kMessagesCountTokens,  // idem
  kEmbeddings,
  kPooling,  // also /classify
  kRerank,
  kScore,
  kAudio,  // multipart/form-data, except speech
  kTokenize,
  kDetokenize,
};

/// The shape of errors and of streamed answers.
enum class ApiShape : std::uint8_t { kOpenAi, kAnthropic };

/// The endpoint behind a normalised path without its query ("/v1/chat/completions"), if it is one
/// that is routed by model. "/v1/rerank", "/rerank" and "/v2/rerank" are all kRerank, and so on.
[[nodiscard]] std::optional<Endpoint> endpoint_of_path(std::string_view path);
[[nodiscard]] ApiShape shape_of(Endpoint endpoint);
/// Whether its streamed answers are server-sent events whatever else the request says.
[[nodiscard]] bool streams_events(Endpoint endpoint);
[[nodiscard]] std::string_view to_string(Endpoint endpoint);

/// Bytes [offset, offset + length) of the body.
struct ByteRange {
  std::size_t offset = 0;
  std::size_t length = 0;
};

/// Bytes of the body to write anew.
struct BodyEdit {
  ByteRange at;
  std::string_view text;  // "" = nothing is to be changed
};

/// What the gateway needs to know of a request body. Every view points into the body or into the
/// parser's scratch and is good until the parser's next call.
struct RequestView {
  std::string_view model;      // unescaped
  ByteRange model_token;       // the JSON string with its quotes, or a multipart value without any
  bool model_is_json = true;   // whether a replacement must be written as a JSON string
  bool stream = false;         // "stream": true; null and absent mean false
  bool include_usage = false;  // stream_options.include_usage
  BodyEdit asking_usage;       // makes a streamed chat or completion that lacks it ask for usage
  std::uint64_t max_output_tokens = 0;              // max_tokens and its siblings; 0 = not given
  std::uint32_t choices = 1;                        // n
  std::string_view session_id;                      // body's session_id, "" when absent
  std::string_view previous_response_id;            // /v1/responses
  std::string_view cache_salt;                      // "" when absent
  std::span<const std::uint32_t> prompt_token_ids;  // /v1/completions with integer prompts
  Prompt prompt;
};

/// Reads request bodies. One per event loop: it keeps its scratch memory between calls, so that a
/// warm parser does not allocate. Not thread-safe.
class RequestParser {
 public:
  RequestParser();
  ~RequestParser();
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  /// Spare bytes that must follow a body in its buffer (their values do not matter).
  static constexpr std::size_t kPadding = 64;

  /// `body` must be followed by kPadding readable bytes. `content_type` is the header's value.
  /// Errors are the client's (400): the message names the field and the mend. All top-level keys
  /// are read: a second "model" key is an error. Unknown keys are none of our business.
  [[nodiscard]] Result<RequestView> parse(Endpoint endpoint, std::string_view content_type,
                                          std::string_view body);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rolter::openai
