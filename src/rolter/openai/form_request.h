#pragma once

#include <string_view>

#include "rolter/base/error.h"
#include "rolter/openai/multipart.h"
#include "rolter/openai/request_view.h"

namespace rolter::openai {

/// Reads a multipart/form-data request (/v1/audio/transcriptions and /translations): its one
/// "model" part, before or after the file, and "stream".
[[nodiscard]] Result<RequestView> read_form_request(FormReader& form, std::string_view content_type,
                                                    std::string_view body);

}  // namespace rolter::openai
