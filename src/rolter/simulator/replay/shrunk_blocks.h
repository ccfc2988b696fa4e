#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rolter/base/ids.h"
#include "rolter/simulator/replay/prefix_cache.h"
#include "rolter/simulator/trace.h"

namespace rolter::simulator::replay {

/// Strategies see a trace shrunk by 32, so that block counts, hence hits and evictions, stay exact:
/// each of its blocks is 16 tokens and 64 letters drawn by its id.
inline constexpr std::uint32_t kShrunkBlockTokens = kTraceBlockTokens / kTraceShrink;
inline constexpr std::size_t kShrunkBlockBytes = 64;

void append_tokens(BlockId block, std::vector<TokenId>& tokens);
void append_text(BlockId block, std::string& text);

}  // namespace rolter::simulator::replay
