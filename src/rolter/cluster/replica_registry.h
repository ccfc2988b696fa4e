#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "rolter/base/ids.h"
#include "rolter/base/time.h"
#include "rolter/cluster/cluster_view.h"
#include "rolter/config/config.h"

namespace rolter::cluster {

/// Makes the view of each configuration, and keeps what lives on across reloads: a replica for as
/// long as its name and address stay, a target's load for as long as route, provider and model do,
/// an operator's drain for as long as the process. Any thread; reloads and drains are rare.
class ReplicaRegistry {
 public:
  struct Applied {
    std::shared_ptr<const ClusterView> view;
    /// Replicas that are gone. Publish the view, make the indexes forget these, then release()
    /// each.
    std::vector<ReplicaSlot> removed;
    /// Slots of replicas that are new. Whatever an index still holds for one is from a replica
    /// before it: a request under way may have recorded it after its removal.
    std::vector<ReplicaSlot> added;
  };

  /// Slots are dense: never more than the replicas configured now and those not yet released.
  [[nodiscard]] Applied apply(const config::Config& config, TimePoint now);

  /// The indexes have forgotten this slot. It is given to another replica once the last request
  /// that still holds the old one has ended.
  void release(ReplicaSlot slot);

  /// Takes a provider out of every comparison or puts it back, now and after reloads. Returns false
  /// when no such provider is configured.
  bool set_drained(std::string_view provider, bool drained, TimePoint now);

 private:
  struct Known {
    std::string identity;  // name and address
    std::shared_ptr<Replica> replica;
  };
  struct KnownLoad {
    std::string identity;  // route, provider, upstream model
    std::shared_ptr<TargetLoad> load;
  };
  struct Slot {
    enum class Use : std::uint8_t { kFree, kTaken, kRetiring, kReleased };
    Use use = Use::kFree;
    std::weak_ptr<Replica> replica;
  };

  [[nodiscard]] std::shared_ptr<Replica> find_or_add(const config::Provider& provider,
                                                     const ReplicaSettings& settings,
                                                     TimePoint now);
  [[nodiscard]] std::shared_ptr<TargetLoad> find_load(const std::string& identity) const;
  [[nodiscard]] ReplicaSlot take_slot();

  std::mutex mutex_;
  std::vector<Known> known_;
  std::vector<KnownLoad> loads_;
  std::vector<Slot> slots_;
  std::vector<std::string> drained_;  // providers' names
  bool applied_before_ = false;
};

}  // namespace rolter::cluster
