#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "rolter/base/ids.h"
#include "rolter/kvcache/radix_node.h"

namespace rolter::kvcache {

using PromptId = std::uint32_t;

/// Insertions of a prompt are counted up to here; one that has got so far can no longer be undone.
inline constexpr std::uint32_t kUncounted = std::numeric_limits<std::uint32_t>::max();

/// The live prompts of all replicas, linked from the one inserted longest ago to the youngest, per
/// replica and over all. Every operation is O(1). Not thread-safe.
class PromptAges {
 public:
  struct Links {
    PromptId older = kNoId;
    PromptId younger = kNoId;
  };
  struct Prompt {
    NodeId end = kNoId;  // of a free cell: the next free one
    ReplicaSlot replica{};
    std::uint32_t generation = 0;  // how often the cell was freed: tells a new tenant from an old
    std::uint32_t insertions = 0;  // not taken back
    Links of_replica;
    Links of_all;
  };

  /// The youngest from now on, with one insertion.
  [[nodiscard]] PromptId add(NodeId end, ReplicaSlot replica);
  /// One more insertion makes it the youngest again.
  void renew(PromptId id);
  void remove(PromptId id);

  [[nodiscard]] const Prompt& operator[](PromptId id) const { return prompts_[id]; }
  [[nodiscard]] Prompt& operator[](PromptId id) { return prompts_[id]; }

  /// kNoId when there is none.
  [[nodiscard]] PromptId oldest() const { return all_.oldest; }
  [[nodiscard]] PromptId oldest_of(ReplicaSlot replica) const;

  /// Goes through all prompts from the oldest on, over any changes in between: one that is renewed
  /// meanwhile may come again. One such walk at a time: a new one ends an earlier one.
  void begin_walk() { bookmark_ = all_.oldest; }
  /// kNoId at the end.
  [[nodiscard]] PromptId next_of_walk();

  [[nodiscard]] std::size_t size() const { return prompts_.size(); }
  [[nodiscard]] std::size_t size_of(ReplicaSlot replica) const;
  /// One past the greatest slot that ever had a prompt.
  [[nodiscard]] std::size_t slots() const { return replicas_.size(); }

 private:
  struct List {
    PromptId oldest = kNoId;
    PromptId youngest = kNoId;
    std::size_t size = 0;
  };
  void append(List& list, Links Prompt::* links, PromptId id);
  void unlink(List& list, Links Prompt::* links, PromptId id);

  Slab<Prompt, &Prompt::end> prompts_;
  std::vector<List> replicas_;  // by slot
  List all_;
  PromptId bookmark_ = kNoId;  // comes next in the walk
};

static_assert(sizeof(PromptAges::Prompt) == 32);

}  // namespace rolter::kvcache
