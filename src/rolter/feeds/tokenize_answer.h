#pragma once

#include <string_view>
#include <vector>

#include "rolter/base/error.h"
#include "rolter/base/ids.h"

namespace rolter::feeds {

/// The ids in an answer of an engine's POST /tokenize: {"count": n, "tokens": [...], ...} (vLLM
/// 0.10 to 0.32). The error says what is wrong with it.
[[nodiscard]] Result<std::vector<TokenId>> read_tokenize_answer(std::string_view body);

}  // namespace rolter::feeds
