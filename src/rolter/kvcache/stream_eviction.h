#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "rolter/kvcache/stream_blocks.h"

namespace rolter::kvcache {

/// The `count` blocks that a stream over its bound gives up: the least recently stored leaf, again
/// and again (at equal age the deeper one), so that never a parent goes before its child. Reads
/// only; O(blocks), about 0.1 us each, and some 24 transient bytes each.
[[nodiscard]] std::vector<EngineHash> plan_eviction(std::span<const EngineBlock> blocks,
                                                    const BlockTable& table, std::size_t count);

}  // namespace rolter::kvcache
