#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "rolter/base/error.h"
#include "rolter/base/ids.h"

namespace rolter::kvcache {

/// More is refused: no model has such a context, and the ids take 4 bytes each.
inline constexpr std::size_t kMaxTokenIds = 1'000'000;

/// Reads the value of x-rolter-vllm-token-ids, the prompt as the engine tokenises it: decimal ids
/// with commas between them and any spaces or tabs around. Strict: anything else (signs, empty
/// places, numbers over 2^32-1, more than kMaxTokenIds) is kInvalidInput or kLimitExceeded, and
/// leaves `ids` empty; the request then goes on without ids. About 1 ns per byte; allocates only
/// while `ids` grows.
Result<void> parse_token_ids(std::string_view value, std::vector<TokenId>& ids);

}  // namespace rolter::kvcache
