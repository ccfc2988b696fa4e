#pragma once

#include <cstddef>
#include <span>

namespace rolter::kvcache {

/// Whether `bytes` is exactly one well-formed MessagePack object, so that it can be walked without
/// further bounds checks and every count in it is at most bytes.size(). Iterative, no allocation,
/// about 1 ns per element.
///
/// Not msgpuck's mp_check: that keeps its count in an int, so an array32 that claims 2^32-1
/// elements passes as an empty one, and it accepts the reserved byte 0xc1.
[[nodiscard]] bool is_one_msgpack_object(std::span<const std::byte> bytes);

}  // namespace rolter::kvcache
