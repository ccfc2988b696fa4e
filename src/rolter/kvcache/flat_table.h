#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <vector>

#include "rolter/base/huge_pages.h"

namespace rolter::kvcache {

/// Memory that begins at a cache line.
template <typename T>
struct LineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kLine{64};

  LineAllocator() = default;
  template <typename U>
  explicit LineAllocator(const LineAllocator<U>& /*other*/) {}

  T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), kLine));
  }
  void deallocate(T* memory, std::size_t /*count*/) { ::operator delete(memory, kLine); }
  bool operator==(const LineAllocator&) const = default;
};

/// How a FlatTable trades memory for speed.
struct FlatTableShape {
  std::size_t max_fill = 75;  // percent; it grows by a quarter, so it is 4/5 of this full at least
  // Slots that are searched from the first one on, wherever in them a key belongs. A cache line of
  // them makes most searches one miss; 1 makes the first slot the right one most often.
  std::size_t group = 1;
};

/// An open-addressing hash table of small slots, made for memory: linear probing without
/// tombstones, between 60 % and 75 % full whatever its size (absl's tables double: 44 % to 87 %). A
/// slot's place follows the order of its spread, so that growing is a streaming pass.
///
/// Slot: default-made vacant, `bool vacant() const`, `std::uint32_t spread() const` (32 well-mixed
/// bits that decide its place and can be told from the slot alone).
///
/// Not thread-safe; positions are good until the next insert, erase or growth.
template <typename Slot, FlatTableShape kShape = FlatTableShape{}>
class FlatTable {
 public:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t bytes() const { return slots_.capacity() * sizeof(Slot); }
  [[nodiscard]] std::span<Slot> slots() { return slots_; }
  [[nodiscard]] std::span<const Slot> slots() const { return slots_; }
  [[nodiscard]] Slot& operator[](std::size_t position) { return slots_[position]; }
  [[nodiscard]] const Slot& operator[](std::size_t position) const { return slots_[position]; }

  void prefetch(std::uint32_t spread) const {
    if (!slots_.empty()) {
      const Slot* const first = &slots_[home(spread)];
      __builtin_prefetch(first);
      if constexpr (kShape.group > 1) {
        __builtin_prefetch(first + kShape.group);  // where a full group goes on
      }
    }
  }

  /// The position of the slot of that spread for which `same(slot)` holds, else of the vacant slot
  /// where it belongs. Not for a table without slots: reserve_for() first.
  template <typename Same>
  [[nodiscard]] std::size_t probe(std::uint32_t spread, Same same) const {
    std::size_t at = home(spread);
    while (!slots_[at].vacant() && !(slots_[at].spread() == spread && same(slots_[at]))) {
      at = after(at);
    }
    return at;
  }

  /// The position of the slot of that spread for which `same(slot)` holds, or kNone.
  template <typename Same>
  [[nodiscard]] std::size_t find(std::uint32_t spread, Same same) const {
    if (slots_.empty()) {
      return kNone;
    }
    const std::size_t at = probe(spread, same);
    return slots_[at].vacant() ? kNone : at;
  }

  [[nodiscard]] bool has_room_for(std::size_t more) const {
    return (size_ + more) * 100 <= slots_.size() * kShape.max_fill;
  }

  /// A larger copy with room for `more`, made beside the table so that others may go on reading it.
  [[nodiscard]] FlatTable grown_for(std::size_t more) const {
    FlatTable larger;
    const std::size_t grown = slots_.size() + slots_.size() / 4;
    const std::size_t needed = (size_ + more) * 100 / kShape.max_fill + 8;
    const std::size_t capacity =
        (std::max(grown, needed) + kShape.group - 1) / kShape.group * kShape.group;
    larger.slots_.reserve(capacity);
    prefer_huge_pages(larger.slots_.data(), capacity * sizeof(Slot));
    larger.slots_.resize(capacity);
    for (const Slot& slot : slots_) {
      if (!slot.vacant()) {
        larger.insert_at(larger.probe(slot.spread(), [](const Slot&) { return false; }), slot);
      }
    }
    return larger;
  }

  void reserve_for(std::size_t more) {
    if (!has_room_for(more)) {
      *this = grown_for(more);
    }
  }

  /// Fills the vacant slot that probe() has found; there must be room.
  void insert_at(std::size_t position, const Slot& slot) {
    slots_[position] = slot;
    ++size_;
  }

  void erase(std::size_t hole) {
    for (std::size_t at = after(hole); !slots_[at].vacant(); at = after(at)) {
      const std::size_t from_home = distance(home(slots_[at].spread()), at);
      if (from_home >= distance(hole, at)) {
        slots_[hole] = slots_[at];
        hole = at;
      }
    }
    slots_[hole] = Slot{};
    --size_;
  }

 private:
  [[nodiscard]] std::size_t home(std::uint32_t spread) const {
    return ((static_cast<std::uint64_t>(spread) * (slots_.size() / kShape.group)) >> 32) *
           kShape.group;
  }
  [[nodiscard]] std::size_t after(std::size_t at) const {
    return at + 1 == slots_.size() ? 0 : at + 1;
  }
  [[nodiscard]] std::size_t distance(std::size_t from, std::size_t to) const {
    return to >= from ? to - from : to + slots_.size() - from;
  }

  std::vector<Slot, LineAllocator<Slot>> slots_;
  std::size_t size_ = 0;
};

}  // namespace rolter::kvcache
