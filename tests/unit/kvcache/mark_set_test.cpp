#include "rolter/kvcache/mark_set.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "rolter/base/random.h"

namespace rolter::kvcache {
namespace {

std::vector<std::uint32_t> slots_of(const MarkSet& marks) {
  std::vector<std::uint32_t> slots;
  for (const Mark& mark : marks.all()) {
    slots.push_back(mark.slot);
  }
  return slots;
}

TEST(MarkSet, stays_sorted_and_complete_under_random_insertions_and_erasures) {
  Rng rng(7);
  MarkSet marks;
  std::set<std::uint32_t> expected;
  for (int i = 0; i < 20'000; ++i) {
    // The set grows to about a hundred, then shrinks to nothing, and again.
    const bool is_growing = i / 1'000 % 2 == 0;
    const auto slot = static_cast<std::uint32_t>(uniform_index(rng, 128));
    if (Mark* const mark = marks.find(ReplicaSlot{slot}); mark == nullptr) {
      ASSERT_FALSE(expected.contains(slot));
      if (is_growing) {
        marks.insert(ReplicaSlot{slot}).prompt = slot + 1;
        expected.insert(slot);
      }
    } else {
      ASSERT_EQ(mark->prompt, slot + 1);
      if (!is_growing) {
        marks.erase(mark);
        expected.erase(slot);
      }
    }
    ASSERT_EQ(slots_of(marks), std::vector<std::uint32_t>(expected.begin(), expected.end()));
  }
}

TEST(MarkSet, marks_of_a_node_above_have_one_reference_and_no_prompt) {
  for (const std::uint32_t count : {0U, 1U, 2U, 5U, 64U}) {
    MarkSet marks;
    for (std::uint32_t slot = 0; slot < count; ++slot) {
      Mark& mark = marks.insert(ReplicaSlot{slot});
      mark.refs = 7;
      mark.prompt = slot;
    }
    const MarkSet above = marks.above();
    EXPECT_EQ(slots_of(above), slots_of(marks));
    for (const Mark& mark : above.all()) {
      EXPECT_EQ(mark.refs, 1);
      EXPECT_FALSE(mark.ends_here());
    }
  }
}

TEST(MarkSet, moving_hands_over_the_marks) {
  MarkSet from;
  from.insert(ReplicaSlot{3});
  from.insert(ReplicaSlot{1});
  MarkSet to;
  to = std::move(from);
  EXPECT_EQ(slots_of(to), (std::vector<std::uint32_t>{1, 3}));
}

TEST(MarkSet, holds_the_greatest_slot_and_the_most_references_a_node_can_have) {
  MarkSet marks;
  Mark& mark = marks.insert(ReplicaSlot{kMaxSlots - 1});
  mark.refs = 257;  // 256 children and a prompt of its own
  EXPECT_EQ(marks.all().front().slot, kMaxSlots - 1);
  EXPECT_EQ(marks.all().front().refs, 257);
}

}  // namespace
}  // namespace rolter::kvcache
