#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "rolter/base/ids.h"
#include "rolter/kvcache/event_stream.h"
#include "rolter/kvcache/stream_blocks.h"

namespace rolter::feeds {

/// How a stream of KV events is.
struct KvStreamStatus {
  std::string provider;
  std::uint32_t rank = 0;
  kvcache::StreamState state = kvcache::StreamState::kConnecting;
  bool connected = false;
  std::size_t blocks = 0;  // in the index now
  std::size_t parked = 0;  // whose parent is not known yet
  kvcache::EventStreamCounters batches;
  kvcache::BlockCounters block_counters;
  std::uint64_t foreign_topics = 0;    // messages under another topic than the configured one
  std::uint64_t unknown_events = 0;    // of a type that Rolter does not know
  std::uint64_t malformed_events = 0;  // in batches that are whole
  double lag_seconds = 0.0;            // of the newest live batch, from its publication
};

/// Something to tell people about a stream, when it begins and not at every repetition.
struct KvNotice {
  enum class Kind : std::uint8_t {
    kGood,
    kBad,
    kCacheLost,  // the engine has restarted or cleared its cache
  };
  Kind kind = Kind::kGood;
  std::string_view provider;
  std::uint32_t rank = 0;
  std::string_view text;
};

/// Called on the event thread; must not block.
using KvNotices = std::function<void(const KvNotice&)>;

}  // namespace rolter::feeds
