#pragma once

#include <string>
#include <string_view>

#include "rolter/openai/request_view.h"

namespace rolter::openai {

/// An error that the gateway itself answers. `type` and `code` are stable words a client can test
/// ("invalid_request_error", "model_not_found"); `param` may be empty (null in the JSON).
struct ApiError {
  int status = 500;
  std::string_view type;
  std::string_view code;
  std::string_view param;
  std::string_view message;  // says what to do; escaped here, whatever it holds
};

/// {"error":{"message","type","param","code"}}, or Anthropic's {"type":"error","error":{...}}.
[[nodiscard]] std::string error_body(ApiShape shape, const ApiError& error,
                                     std::string_view request_id);

/// `text` as a JSON string with its quotes. Control characters are escaped; bytes >= 0x80 are
/// written as they are when valid UTF-8 and as U+FFFD otherwise.
void append_json_string(std::string& out, std::string_view text);

}  // namespace rolter::openai
