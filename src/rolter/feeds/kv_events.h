#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "rolter/base/ids.h"
#include "rolter/base/random.h"
#include "rolter/base/time.h"
#include "rolter/feeds/kv_source.h"
#include "rolter/feeds/kv_status.h"
#include "rolter/kvcache/block_index.h"

namespace rolter::feeds {

/// Keeps the block index current from the engines' own events: one stream per replica and
/// data-parallel rank, all on one thread that does nothing else, so that a replay flood cannot
/// stall health probes, and no engine drops batches because we read slowly.
///
/// A source that cannot be reached is dialled again for as long as it is configured; its stream
/// then is stale, and its target gets no credit.
class KvEventFeed {
 public:
  /// `index` and `clock` must outlive the feed. Throws when the system has no descriptors left.
  KvEventFeed(kvcache::BlockIndex& index, const Clock& clock, Rng seeded, KvNotices tell);
  ~KvEventFeed();
  KvEventFeed(const KvEventFeed&) = delete;
  KvEventFeed& operator=(const KvEventFeed&) = delete;

  /// Follows the sources until stop(), on the calling thread, once. At the end the index has
  /// forgotten all streams.
  void run();

  // ---- any thread ----

  void stop();

  /// Follows these from now on instead of any earlier ones. A stream that stays the same keeps its
  /// connection and its blocks; the index forgets the others. `in_force` is called when that is
  /// done, on the event thread.
  void watch(std::vector<KvSource> sources, std::function<void()> in_force);

  /// A request that this replica was sent at `since` has been answered, and `new_tokens` of its
  /// prompt were not cached: if no event has come since then, one must be on its way. Noticed
  /// within a second. Nothing for replicas with several ranks, since nobody knows which one it was.
  void expect_event(ReplicaSlot replica, std::uint64_t new_tokens, TimePoint since);

  /// Signs other than its events tell that the replica has restarted: what its streams hold is
  /// forgotten, unless they are connected and so know better.
  void restarted(ReplicaSlot replica);

  /// In the order of the sources.
  [[nodiscard]] std::vector<KvStreamStatus> status() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rolter::feeds
