#pragma once

#include <cstdint>
#include <string_view>

namespace rolter::balance {

/// XXH3, 64 bits: the same in every process, so that several gateways agree.
[[nodiscard]] std::uint64_t hash_of(std::string_view bytes);

/// Two hashes into one, in order.
[[nodiscard]] std::uint64_t combine(std::uint64_t first, std::uint64_t second);

}  // namespace rolter::balance
