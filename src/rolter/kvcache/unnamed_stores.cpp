#include "rolter/kvcache/unnamed_stores.h"

#include <algorithm>

namespace rolter::kvcache {

void UnnamedStores::stored(ReplicaSlot replica, ChainKey parent, ChainKey block) {
  const std::uint64_t at = place(replica, parent);
  const auto [entry, fresh] = after_.insert_or_assign(at, Block{.key = block, .number = ++clock_});
  if (!fresh) {
    return;
  }
  order_.push_back(at);
  if (order_.size() > kMostBlocks) {
    after_.erase(order_.front());
    order_.pop_front();
  }
}

std::optional<ChainKey> UnnamedStores::after(ReplicaSlot replica, ChainKey parent,
                                             std::uint64_t since) const {
  const auto found = after_.find(place(replica, parent));
  return found == after_.end() || found->second.number <= since ? std::nullopt
                                                                : std::optional(found->second.key);
}

void UnnamedStores::watch(ReplicaSlot replica, ChainKey end, std::uint64_t whose) {
  watchers_[place(replica, end)].push_back(whose);
}

void UnnamedStores::unwatch(ReplicaSlot replica, ChainKey end, std::uint64_t whose) {
  const auto found = watchers_.find(place(replica, end));
  if (found != watchers_.end() && std::erase(found->second, whose) > 0 && found->second.empty()) {
    watchers_.erase(found);
  }
}

std::optional<std::uint64_t> UnnamedStores::watcher(ReplicaSlot replica, ChainKey end) const {
  const auto found = watchers_.find(place(replica, end));
  return found == watchers_.end() || found->second.size() != 1
             ? std::nullopt
             : std::optional(found->second.front());
}

}  // namespace rolter::kvcache
