#pragma once

#include <absl/container/flat_hash_set.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>

#include "rolter/kvcache/chain_key.h"
#include "rolter/kvcache/stream_blocks.h"

namespace rolter::kvcache {

/// Where prompts that an engine was sent ended, in blocks. An engine whose model has sliding
/// windows or state layers keeps those layers' part of the cache for the end of a prompt only, so a
/// prefix can be reused up to such an end and nowhere else (vLLM 0.32: half of a cached prompt
/// finds nothing).
///
/// Remembers the last `limit` ends, 24 bytes each. Any thread.
class PromptEnds {
 public:
  explicit PromptEnds(std::size_t limit = 65'536) : limit_(limit) {}

  /// A prompt with these full blocks went to the stream's engine.
  void add(StreamId stream, std::span<const ChainKey> chain);

  /// The most leading blocks of `chain`, at most `blocks`, that end where a prompt did. Looks at
  /// one block after the other.
  [[nodiscard]] std::uint32_t last_end(StreamId stream, std::span<const ChainKey> chain,
                                       std::uint32_t blocks) const;

 private:
  [[nodiscard]] static std::uint64_t name(StreamId stream, ChainKey key);

  std::size_t limit_;
  mutable std::mutex mutex_;
  absl::flat_hash_set<std::uint64_t> ends_;
  std::deque<std::uint64_t> by_age_;
};

}  // namespace rolter::kvcache
