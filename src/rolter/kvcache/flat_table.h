#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace rolter::kvcache {

/// An open-addressing hash table of small slots, made for memory: linear probing without
/// tombstones, growth by a quarter, between 64 % and 80 % full whatever its size (absl's tables
/// double: 44 % to 87 %). A slot's place follows the order of its spread, so that growing is a
/// streaming pass.
///
/// Slot: default-made vacant, `bool vacant() const`, `std::uint32_t spread() const` (32 well-mixed
/// bits that decide its place and can be told from the slot alone).
///
/// Not thread-safe; positions are good until the next insert, erase or growth.
template <typename Slot>
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
      __builtin_prefetch(&slots_[home(spread)]);
    }
  }

  /// The slot of that spread for which `same(slot)` holds.
  template <typename Same>
  [[nodiscard]] std::size_t find(std::uint32_t spread, Same same) const {
    if (slots_.empty()) {
      return kNone;
    }
    for (std::size_t at = home(spread); !slots_[at].vacant(); at = after(at)) {
      if (slots_[at].spread() == spread && same(slots_[at])) {
        return at;
      }
    }
    return kNone;
  }

  [[nodiscard]] bool has_room_for(std::size_t more) const {
    return (size_ + more) * 5 <= slots_.size() * 4;
  }

  /// A larger copy with room for `more`, made beside the table so that others may go on reading it.
  [[nodiscard]] FlatTable grown_for(std::size_t more) const {
    FlatTable larger;
    const std::size_t grown = slots_.size() + slots_.size() / 4;
    const std::size_t needed = (size_ + more) + (size_ + more) / 4 + 8;
    larger.slots_.resize(grown > needed ? grown : needed);
    for (const Slot& slot : slots_) {
      if (!slot.vacant()) {
        larger.insert(slot);
      }
    }
    return larger;
  }

  void reserve_for(std::size_t more) {
    if (!has_room_for(more)) {
      *this = grown_for(more);
    }
  }

  /// The slot must not be in the table, and there must be room for it.
  std::size_t insert(const Slot& slot) {
    std::size_t at = home(slot.spread());
    while (!slots_[at].vacant()) {
      at = after(at);
    }
    slots_[at] = slot;
    ++size_;
    return at;
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
    return (static_cast<std::uint64_t>(spread) * slots_.size()) >> 32;
  }
  [[nodiscard]] std::size_t after(std::size_t at) const {
    return at + 1 == slots_.size() ? 0 : at + 1;
  }
  [[nodiscard]] std::size_t distance(std::size_t from, std::size_t to) const {
    return to >= from ? to - from : to + slots_.size() - from;
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

}  // namespace rolter::kvcache
