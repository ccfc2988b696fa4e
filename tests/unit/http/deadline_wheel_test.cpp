#include "rolter/http/deadline_wheel.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace rolter::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(DeadlineWheel, expires_not_early_and_at_most_two_ticks_late) {
  for (const milliseconds after : {milliseconds(1), milliseconds(50), milliseconds(51),
                                   milliseconds(1'000), milliseconds(60'000)}) {
    DeadlineWheel wheel;
    wheel.advance(7);
    int expired = 0;
    Deadline deadline(wheel, [&expired] { ++expired; });
    deadline.arm(after);
    const auto whole_ticks = static_cast<std::uint64_t>(after / DeadlineWheel::kTick);
    wheel.advance(whole_ticks);
    EXPECT_EQ(expired, 0) << after.count();
    wheel.advance(2);
    EXPECT_EQ(expired, 1) << after.count();
    wheel.advance(2'000);
    EXPECT_EQ(expired, 1) << after.count();
  }
}

TEST(DeadlineWheel, disarmed_and_destroyed_deadlines_never_expire) {
  DeadlineWheel wheel;
  int expired = 0;
  Deadline kept(wheel, [&expired] { ++expired; });
  auto destroyed = std::make_unique<Deadline>(wheel, [&expired] { ++expired; });
  kept.arm(seconds(1));
  destroyed->arm(seconds(1));
  EXPECT_EQ(wheel.armed(), 2u);
  kept.disarm();
  destroyed.reset();
  EXPECT_EQ(wheel.armed(), 0u);
  wheel.advance(100);
  EXPECT_EQ(expired, 0);
}

TEST(DeadlineWheel, rearming_replaces_and_zero_disarms) {
  DeadlineWheel wheel;
  int expired = 0;
  Deadline deadline(wheel, [&expired] { ++expired; });
  deadline.arm(milliseconds(100));
  deadline.arm(seconds(10));
  wheel.advance(100);
  EXPECT_EQ(expired, 0);
  deadline.arm(milliseconds(0));
  EXPECT_FALSE(deadline.armed());
}

TEST(DeadlineWheel, a_callback_may_change_its_own_slot) {
  DeadlineWheel wheel;
  std::vector<int> order;
  std::unique_ptr<Deadline> victim;
  Deadline again(wheel, [&] {
    order.push_back(1);
    victim.reset();
    if (order.size() < 3) {
      again.arm(milliseconds(50));
    }
  });
  victim = std::make_unique<Deadline>(wheel, [&] { order.push_back(2); });
  victim->arm(milliseconds(50));
  again.arm(milliseconds(50));  // linked in front: runs first and destroys the other
  wheel.advance(20);
  EXPECT_EQ(order, (std::vector<int>{1, 1, 1}));
}

}  // namespace
}  // namespace rolter::http
