#include "rolter/kvcache/prefix_tree.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <stdexcept>

#include "rolter/kvcache/prefix_score.h"
#include "rolter/kvcache/prefix_tree_impl.h"

namespace rolter::kvcache {
namespace {

std::uint32_t next_tree_id() {
  static std::atomic<std::uint32_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

PrefixTree::PrefixTree(PrefixTreeLimits limits, std::size_t max_edge_bytes)
    : impl_(std::make_unique<Impl>(next_tree_id(), limits,
                                   static_cast<std::uint32_t>(max_edge_bytes))) {}

PrefixTree::~PrefixTree() = default;

PrefixTree::Trace PrefixTree::match(std::uint64_t root, std::string_view text,
                                    std::span<const ReplicaSlot> replicas,
                                    std::span<std::size_t> matched_bytes) const {
  const std::lock_guard lock(impl_->mutex);
  const RadixTree::Reach reach = impl_->radix.walk(root, text);
  score_all(impl_->radix, reach, replicas, matched_bytes);
  return impl_->trace_of(reach);
}

PrefixTree::BestMatch PrefixTree::match_best(std::uint64_t root, std::string_view text,
                                             std::span<const ReplicaSlot> replicas,
                                             std::span<std::uint32_t> holders) const {
  const std::lock_guard lock(impl_->mutex);
  const RadixTree::Reach reach = impl_->radix.walk(root, text);
  BestMatch best = score_best(impl_->radix, reach, replicas, holders);
  best.trace = impl_->trace_of(reach);
  return best;
}

PrefixTree::Ticket PrefixTree::insert(std::uint64_t root, std::string_view text,
                                      ReplicaSlot replica, Trace trace) {
  if (to_index(replica) >= kMaxSlots) {
    throw std::out_of_range("replica slots are dense and below 2^23");
  }
  const std::lock_guard lock(impl_->mutex);
  return impl_->insert(root, text, replica, trace);
}

void PrefixTree::undo(Ticket ticket) {
  const std::lock_guard lock(impl_->mutex);
  const PromptId id = impl_->find(ticket);
  if (id == kNoId || impl_->ages[id].insertions == kUncounted) {
    return;
  }
  PromptAges::Prompt& prompt = impl_->ages[id];
  if (--prompt.insertions == 0) {
    impl_->remove(id);
  }
}

void PrefixTree::extend(Ticket ticket, std::string_view more) {
  const std::lock_guard lock(impl_->mutex);
  if (const PromptId id = impl_->find(ticket); id != kNoId && !more.empty()) {
    impl_->extend(id, more);
  }
}

void PrefixTree::learn(ReplicaSlot replica, const HitReport& report) {
  if (to_index(replica) < kMaxSlots) {
    const std::lock_guard lock(impl_->mutex);
    impl_->learn(replica, report);
  }
}

std::size_t PrefixTree::learned_bytes(ReplicaSlot replica) const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->learned_bytes(replica);
}

void PrefixTree::believe(ReplicaSlot replica, std::size_t bytes) {
  if (to_index(replica) < kMaxSlots) {
    const std::lock_guard lock(impl_->mutex);
    impl_->limit_of(replica).set(bytes);
    impl_->evict_over_learned(replica);
  }
}

void PrefixTree::remove_replica(ReplicaSlot replica) {
  constexpr std::size_t kBatch = 64;
  std::unique_lock lock(impl_->mutex);
  if (to_index(replica) < impl_->learned.size()) {
    impl_->learned[to_index(replica)] = {};
  }
  std::size_t left = impl_->ages.size_of(replica);  // later insertions are not meant
  while (left > 0) {
    for (std::size_t i = 0; i < kBatch && left > 0; ++i, --left) {
      const PromptId id = impl_->ages.oldest_of(replica);
      if (id == kNoId) {
        return;
      }
      impl_->remove(id);
    }
    lock.unlock();
    lock.lock();
  }
}

void PrefixTree::set_limits(PrefixTreeLimits limits) {
  const std::lock_guard lock(impl_->mutex);
  impl_->limits = effective(limits);
  for (std::uint32_t slot = 0; slot < impl_->ages.slots(); ++slot) {
    while (impl_->is_over(ReplicaSlot{slot})) {
      impl_->evict(impl_->ages.oldest_of(ReplicaSlot{slot}));
    }
  }
  impl_->evict_over_bytes();
}

std::size_t PrefixTree::held_bytes(ReplicaSlot replica) const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->radix.share(replica).bytes;
}

void PrefixTree::held_bytes(std::span<const ReplicaSlot> replicas,
                            std::span<std::size_t> bytes) const {
  const std::lock_guard lock(impl_->mutex);
  std::ranges::transform(replicas, bytes.begin(),
                         [this](ReplicaSlot replica) { return impl_->radix.share(replica).bytes; });
}

std::size_t PrefixTree::held_nodes(ReplicaSlot replica) const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->radix.share(replica).marks;
}

PrefixTreeStats PrefixTree::stats() const {
  const std::lock_guard lock(impl_->mutex);
  const RadixTree::Totals totals = impl_->radix.totals();
  return {.nodes = totals.nodes,
          .roots = totals.roots,
          .marks = totals.marks,
          .prompts = impl_->ages.size(),
          .text_bytes = totals.text_bytes,
          .index_bytes = impl_->index_bytes(),
          .evicted_prompts = impl_->evicted};
}

}  // namespace rolter::kvcache
