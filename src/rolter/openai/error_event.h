#pragma once

#include <string>
#include <string_view>

#include "rolter/openai/request_view.h"

namespace rolter::openai {

/// The event by which a stream that has already begun tells of an error, as the clients of that API
/// expect it, and the end marker where there is one. `json` is an error body of one of the API's
/// servers or our own (error_body()).
[[nodiscard]] std::string error_event(Endpoint endpoint, std::string_view json);

/// Whether clients will find an error in this body: a JSON object with a member "error".
[[nodiscard]] bool names_error(std::string_view body);

}  // namespace rolter::openai
