#include "rolter/balance/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace rolter::balance {

std::uint64_t hash_of(std::string_view bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::uint64_t combine(std::uint64_t first, std::uint64_t second) {
  const std::uint64_t both[] = {first, second};
  return XXH3_64bits(both, sizeof(both));
}

}  // namespace rolter::balance
