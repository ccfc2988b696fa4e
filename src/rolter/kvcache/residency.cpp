#include "rolter/kvcache/residency.h"

#include <absl/container/inlined_vector.h>

#include <cstddef>

namespace rolter::kvcache {

bool Residency::lookup(std::span<const ChainKey> chain, std::span<const StreamId> streams,
                       TimePoint now, std::span<std::uint32_t> blocks) {
  index.lookup(chain, streams, blocks);
  absl::InlinedVector<std::uint32_t, 128> ahead(streams.size());
  if (!pending.lookup(chain, streams, now, {ahead.data(), ahead.size()})) {
    return false;
  }
  bool any = false;
  for (std::size_t i = 0; i < streams.size(); ++i) {
    if (ahead[i] > blocks[i]) {
      // Blocks behind a hole that is about to be filled may be there still.
      std::uint32_t behind = 0;
      index.lookup(chain.subspan(ahead[i]), streams.subspan(i, 1), {&behind, 1});
      blocks[i] = ahead[i] + behind;
      any = true;
    }
  }
  return any;
}

}  // namespace rolter::kvcache
