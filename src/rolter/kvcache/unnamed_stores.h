#pragma once

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "rolter/base/ids.h"
#include "rolter/kvcache/chain_key.h"

namespace rolter::kvcache {

/// One number for what is the same at every replica, and which of them.
[[nodiscard]] constexpr std::uint64_t at_replica(std::uint64_t what, ReplicaSlot replica) {
  return what ^ ((std::uint64_t{to_index(replica)} + 1) * 0x9e3779b97f4a7c15ULL);
}

/// What engines store without saying for whom (vLLM before 0.30, SGLang): how a chain that begins
/// as a known prompt goes on. A step of decoding fills one block at most, so single blocks behind
/// a prompt's last full one are its reply. The last kMostBlocks are kept. Not thread-safe.
class UnnamedStores {
 public:
  static constexpr std::size_t kMostBlocks = 65'536;
  /// So many events without a name, while requests were under way that have one: the engine does
  /// not give names back. More than one, since others may use it as well.
  static constexpr std::uint32_t kProof = 4;

  /// A request that has a session is at the engine from now on, or no longer.
  void sent(ReplicaSlot replica) { ++engines_[replica].requests; }
  void gone(ReplicaSlot replica) { --engines_[replica].requests; }
  /// The engine has stored something, for a session that it names or not.
  void heard(ReplicaSlot replica, bool named) {
    Engine& engine = engines_[replica];
    engine.unnamed = named                  ? 0
                     : engine.requests == 0 ? engine.unnamed
                                            : std::min(engine.unnamed + 1, kProof);
  }
  /// Whether the engine's events are known to name no session.
  [[nodiscard]] bool never_names(ReplicaSlot replica) const {
    const auto found = engines_.find(replica);
    return found != engines_.end() && found->second.unnamed == kProof;
  }

  /// How many blocks have been stored so far.
  [[nodiscard]] std::uint64_t clock() const { return clock_; }
  void stored(ReplicaSlot replica, ChainKey parent, ChainKey block);
  /// The block behind `parent` that was stored last, if after `since` of clock().
  [[nodiscard]] std::optional<ChainKey> after(ReplicaSlot replica, ChainKey parent,
                                              std::uint64_t since) const;

  /// Whoever's chain ends with this block is told of the one behind it. Nobody is where two chains
  /// end alike: whose reply it is cannot be known.
  void watch(ReplicaSlot replica, ChainKey end, std::uint64_t whose);
  void unwatch(ReplicaSlot replica, ChainKey end, std::uint64_t whose);
  [[nodiscard]] bool is_watched(ReplicaSlot replica, ChainKey end) const {
    return watchers_.contains(place(replica, end));
  }
  [[nodiscard]] std::optional<std::uint64_t> watcher(ReplicaSlot replica, ChainKey end) const;

 private:
  struct Engine {
    std::uint32_t requests = 0;
    std::uint32_t unnamed = 0;  // events in a row
  };
  struct Block {
    ChainKey key{};
    std::uint64_t number = 0;
  };
  static std::uint64_t place(ReplicaSlot replica, ChainKey key) {
    return at_replica(std::to_underlying(key), replica);
  }

  absl::flat_hash_map<ReplicaSlot, Engine> engines_;
  absl::flat_hash_map<std::uint64_t, Block> after_;
  std::deque<std::uint64_t> order_;  // of after_
  std::uint64_t clock_ = 0;
  absl::flat_hash_map<std::uint64_t, std::vector<std::uint64_t>> watchers_;
};

}  // namespace rolter::kvcache
