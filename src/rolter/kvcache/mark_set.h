#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "rolter/base/ids.h"
#include "rolter/kvcache/slab.h"

namespace rolter::kvcache {

/// One replica's mark at one node: some live prompt of the replica passes through the node.
struct Mark {
  std::uint32_t slot : 23;
  std::uint32_t refs : 9;  // children marked for the replica, plus 1 if a prompt ends here: <= 257
  std::uint32_t prompt;    // the replica's prompt that ends here, or kNoId

  [[nodiscard]] bool ends_here() const { return prompt != kNoId; }
};

/// Where the slot's mark is in marks sorted by slot, or would have to go.
[[nodiscard]] inline std::size_t place_of(std::span<const Mark> marks, std::uint32_t slot) {
  const auto at = std::ranges::lower_bound(marks, slot, {}, [](const Mark& mark) {
    return std::uint32_t{mark.slot};  // a bit-field has no address
  });
  return static_cast<std::size_t>(at - marks.begin());
}

/// Slots at or above this cannot be marked. They are dense, so this is no limit in practice.
inline constexpr std::uint32_t kMaxSlots = 1U << 23;

/// The marks of one node, sorted by slot. One mark lies in the object itself (most nodes belong to
/// a single replica's conversation), more of them in an array that grows by a third or a half: at
/// most 16 bytes per mark. 12 bytes, so that a node can use the padding.
class MarkSet {
 public:
  MarkSet() = default;
  MarkSet(MarkSet&& other) noexcept { swap(other); }
  MarkSet& operator=(MarkSet&& other) noexcept {
    swap(other);
    return *this;
  }
  ~MarkSet();

  [[nodiscard]] std::uint32_t size() const { return count_; }
  [[nodiscard]] std::span<Mark> all() { return {marks(), count_}; }
  [[nodiscard]] std::span<const Mark> all() const {
    return {count_ > 1 ? store_.many : &store_.one, count_};
  }

  /// nullptr when the replica has no mark here.
  [[nodiscard]] Mark* find(ReplicaSlot replica);
  [[nodiscard]] const Mark* find(ReplicaSlot replica) const;

  /// Adds a mark with one reference and no prompt; the replica must have none.
  Mark& insert(ReplicaSlot replica);
  /// `mark` must belong to this set.
  void erase(const Mark* mark);

  /// The same replicas, each with one reference and no prompt: the marks of a node put in above.
  [[nodiscard]] MarkSet above() const;

 private:
  [[nodiscard]] Mark* marks() { return count_ > 1 ? store_.many : &store_.one; }
  void swap(MarkSet& other) noexcept;

  union Store {
    Mark one{0, 0, kNoId};  // up to one mark
    Mark* many;
  };
  Store store_;
  std::uint32_t count_ = 0;
};

}  // namespace rolter::kvcache
