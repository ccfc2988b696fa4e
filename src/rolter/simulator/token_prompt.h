#pragma once

#include <vector>

#include "rolter/simulator/engine_service.h"
#include "rolter/simulator/request_body.h"

namespace rolter::simulator {

/// The prompts of /v1/completions and the inputs of /v1/embeddings: a string, strings, token ids or
/// lists of them, under `key`. The echo of token ids is that of "12,7,300".
[[nodiscard]] Parsed<std::vector<GenerationRequest::Prompt>> read_prompts(const JsonValue& body,
                                                                          std::string_view key);

}  // namespace rolter::simulator
