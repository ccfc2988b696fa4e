#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "rolter/base/ids.h"
#include "rolter/base/time.h"
#include "rolter/kvcache/residency.h"
#include "rolter/simulator/replay/prefix_cache.h"
#include "rolter/simulator/trace.h"

namespace rolter::simulator::replay {

/// The KV events of a virtual fleet on their way into the block index that strategies read: each
/// arrives `lag` after the change it tells of.
class EngineEvents {
 public:
  /// One stream per replica, replica i being ReplicaSlot{i}.
  EngineEvents(std::shared_ptr<kvcache::Residency> residency, std::size_t replicas, Duration lag);

  /// The replica has used this chain.
  void changed(std::size_t replica, std::span<const BlockId> chain, const CacheChange& change,
               TimePoint now);

  /// Applies what has arrived by now.
  void deliver(TimePoint now);

 private:
  struct Message {
    TimePoint due;
    std::size_t replica;
    std::vector<BlockId> stored;  // a piece of one chain
    std::optional<BlockId> parent;
    std::vector<BlockId> removed;
  };

  void apply(const Message& message);

  std::shared_ptr<kvcache::Residency> residency_;
  std::vector<kvcache::StreamId> streams_;
  Duration lag_;
  std::deque<Message> under_way_;
  std::vector<TokenId> tokens_;
  std::vector<kvcache::EngineHash> hashes_;
};

}  // namespace rolter::simulator::replay
