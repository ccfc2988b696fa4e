#pragma once

#include <cstdint>

#include "rolter/cluster/cluster_view.h"
#include "rolter/cluster/replica.h"

namespace rolter::cluster {

/// Whether an open breaker is respected: not when every target is out and the route fails open.
enum class Gate : std::uint8_t { kRespected, kFailOpen };

/// One request's go at one replica: its lease, and the trial slot when the replica's breaker is
/// half-open. Move-only. Dropped without finish(), it ends as kAbandoned: the counts go back, the
/// slot is free. The ClusterView it came from must outlive it.
class Attempt {
 public:
  Attempt() = default;

  /// Starts one. holds() is false when the target has just reached its cap or another request is
  /// trying its breaker: pick again without it.
  [[nodiscard]] static Attempt begin(const RouteTarget& target, Gate gate, TimePoint now);

  Attempt(Attempt&& other) noexcept;
  Attempt& operator=(Attempt&& other) noexcept;
  ~Attempt();

  [[nodiscard]] bool holds() const { return lease_.holds(); }
  [[nodiscard]] TimePoint sent_at() const { return sent_at_; }

  /// Ends it and says what that changed about the replica.
  Transition finish(const Report& report, TimePoint now);

 private:
  void abandon();

  Lease lease_;
  Replica* replica_ = nullptr;
  TrialSlot slot_ = TrialSlot::kNone;
  TimePoint sent_at_{};
};

}  // namespace rolter::cluster
