#include "rolter/kvcache/mark_set.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <memory>

namespace rolter::kvcache {
namespace {

constexpr Mark passing(std::uint32_t slot) {
  return Mark{.slot = slot & (kMaxSlots - 1), .refs = 1, .prompt = kNoId};
}

/// Room of the array for `count` > 1 marks: 2, 3, 4, 6, 8, 12, 16, 24, ...
constexpr std::size_t room_for(std::size_t count) {
  const std::size_t power = std::bit_ceil(count);
  const std::size_t three_quarters = power / 4 * 3;
  return count <= three_quarters ? three_quarters : power;
}

Mark* allocate(std::size_t room) {
  return std::make_unique_for_overwrite<Mark[]>(room).release();
}

void release(Mark* array) {
  const std::unique_ptr<Mark[]> owner(array);
}

}  // namespace

MarkSet::~MarkSet() {
  if (count_ > 1) {
    release(store_.many);
  }
}

void MarkSet::swap(MarkSet& other) noexcept {
  std::swap(store_, other.store_);
  std::swap(count_, other.count_);
}

const Mark* MarkSet::find(ReplicaSlot replica) const {
  const std::span<const Mark> marks = all();
  const std::size_t place = place_of(marks, to_index(replica));
  return place < marks.size() && marks[place].slot == to_index(replica) ? &marks[place] : nullptr;
}

Mark* MarkSet::find(ReplicaSlot replica) {
  return const_cast<Mark*>(std::as_const(*this).find(replica));
}

Mark& MarkSet::insert(ReplicaSlot replica) {
  const Mark added = passing(to_index(replica));
  if (count_ == 0) {
    store_.one = added;
    count_ = 1;
    return store_.one;
  }
  Mark* const old = marks();
  const std::size_t place = place_of(all(), added.slot);
  const bool is_full = count_ == 1 || room_for(count_) == count_;
  Mark* const target = is_full ? allocate(room_for(count_ + 1)) : old;
  std::copy_backward(old + place, old + count_, target + count_ + 1);
  if (is_full) {
    std::copy(old, old + place, target);
    if (count_ > 1) {
      release(old);
    }
  }
  store_.many = target;
  store_.many[place] = added;
  ++count_;
  return store_.many[place];
}

void MarkSet::erase(const Mark* mark) {
  const std::span<Mark> old = all();
  const auto place = static_cast<std::size_t>(mark - old.data());
  if (count_ == 1) {
    count_ = 0;
    return;
  }
  if (count_ == 2) {
    const Mark left = old[1 - place];
    release(store_.many);
    store_.one = left;
    count_ = 1;
    return;
  }
  const std::size_t room = room_for(count_ - 1);
  if (room == room_for(count_)) {
    std::copy(old.begin() + place + 1, old.end(), old.begin() + place);
  } else {
    Mark* const target = allocate(room);
    std::copy(old.begin(), old.begin() + place, target);
    std::copy(old.begin() + place + 1, old.end(), target + place);
    release(store_.many);
    store_.many = target;
  }
  --count_;
}

MarkSet MarkSet::above() const {
  MarkSet copy;
  const std::span<const Mark> marks = all();
  if (marks.size() == 1) {
    copy.store_.one = passing(marks.front().slot);
  } else if (marks.size() > 1) {
    copy.store_.many = allocate(room_for(marks.size()));
    std::ranges::transform(marks, copy.store_.many,
                           [](const Mark& mark) { return passing(mark.slot); });
  }
  copy.count_ = count_;
  return copy;
}

}  // namespace rolter::kvcache
