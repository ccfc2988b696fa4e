#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rolter/balance/prefill_queues.h"
#include "rolter/balance/session_tables.h"
#include "rolter/balance/strategy.h"
#include "rolter/cluster/cluster_view.h"
#include "rolter/config/config.h"
#include "rolter/kvcache/prefix_trees.h"
#include "rolter/kvcache/residency.h"

namespace rolter::balance {

/// What a shadow has come to, beside what the real strategy did. Of requests that were answered.
struct ShadowFigures {
  std::uint64_t requests = 0;
  std::uint64_t same_target = 0;    // chosen by both
  std::uint64_t prompt_tokens = 0;  // of answers whose usage is known
  std::uint64_t cached_tokens = 0;  // of these, that its own choice would have found
};

/// What a shadow remembers from one configuration to the next. Any thread.
class ShadowMemory {
 public:
  /// The route as the shadow has it, with its strategy.
  void apply(const config::Route& route);
  void remove_replica(ReplicaSlot replica) { trees_.remove_replica(replica); }

  [[nodiscard]] ShadowFigures figures() const;

 private:
  friend class Shadow;

  std::uint32_t add_load(ReplicaSlot replica, std::int32_t requests);

  kvcache::PrefixTrees trees_;
  SessionTables sessions_;
  std::shared_ptr<PrefillQueues> queues_ = std::make_shared<PrefillQueues>();
  std::mutex loads_mutex_;
  std::vector<std::uint32_t> loads_;  // by ReplicaSlot
  std::atomic<std::uint64_t> requests_{0};
  std::atomic<std::uint64_t> same_target_{0};
  std::atomic<std::uint64_t> prompt_tokens_{0};
  std::atomic<std::uint64_t> cached_tokens_{0};
};

/// A strategy that decides beside the real one, without effect: as if all requests so far had gone
/// where it chose. It has its own prefix trees, sessions and loads; a request lasts there as long
/// as it really does. Of KV events it sees none, since engines hold what the real strategy sent
/// them; how much a replica holds it takes from what the real strategy's tree has learned.
///
/// Costs what a second strategy does, in time and memory. Any thread.
class Shadow {
 public:
  struct Parts {
    const config::Route& route;
    config::StrategyKind kind = config::StrategyKind::kCacheAware;
    std::span<const cluster::RouteTarget> targets;
    const kvcache::PrefixTrees& real_trees;  // must outlive the shadow
    std::shared_ptr<ShadowMemory> memory;    // has applied the route
    const Strategy* before = nullptr;
  };
  explicit Shadow(const Parts& parts);

  [[nodiscard]] config::StrategyKind kind() const { return kind_; }
  [[nodiscard]] const Strategy& strategy() const { return *strategy_; }
  [[nodiscard]] ShadowFigures figures() const { return memory_->figures(); }
  /// The replica has lost its cache.
  void forget(ReplicaSlot replica) { memory_->remove_replica(replica); }

  /// One request under way. Dropped before keep(), it never was.
  class Ride {
   public:
    Ride(Shadow& shadow, const PickInput& in, std::size_t real_target);
    Ride(Ride&& other) noexcept
        : shadow_(std::exchange(other.shadow_, nullptr)),
          decision_(other.decision_),
          replica_(other.replica_),
          same_target_(other.same_target_),
          record_(std::move(other.record_)) {}
    Ride& operator=(Ride&&) = delete;
    ~Ride();

    void keep(TimePoint now) { record_.keep(now); }
    void reply(std::string_view text) { record_.reply(text); }
    /// The answer has ended. What the engine found says nothing of the shadow's choice.
    void end(const std::optional<PromptUsage>& usage, TimePoint now);

   private:
    Shadow* shadow_;
    Decision decision_;
    ReplicaSlot replica_{};
    bool same_target_ = false;
    Record record_;
  };

 private:
  void follow_learned(const Candidate& chosen);

  config::StrategyKind kind_;
  std::vector<std::string> models_;  // of the targets
  const kvcache::PrefixTrees& real_trees_;
  std::shared_ptr<ShadowMemory> memory_;
  std::unique_ptr<Strategy> strategy_;
};

}  // namespace rolter::balance
