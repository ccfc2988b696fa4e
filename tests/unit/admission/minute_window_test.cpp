#include "rolter/admission/minute_window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>

namespace rolter::admission {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TimePoint at_millis(std::int64_t millis) {
  return TimePoint{milliseconds{millis}};
}

TEST(MinuteWindow, what_is_counted_stays_for_a_minute_and_at_most_a_second_more) {
  MinuteWindow window;
  window.add(at_millis(100'900), 3);
  EXPECT_EQ(window.total(at_millis(160'899)), 3U);
  EXPECT_EQ(window.total(at_millis(160'999)), 3U);
  EXPECT_EQ(window.total(at_millis(161'000)), 0U);
}

TEST(MinuteWindow, a_long_pause_empties_it) {
  MinuteWindow window;
  window.add(at_millis(1'000), 3);
  window.add(at_millis(2'000), 4);
  EXPECT_EQ(window.total(at_millis(86'400'000)), 0U);
}

TEST(MinuteWindow, what_is_taken_back_is_gone_once) {
  MinuteWindow window;
  const auto second = window.add(at_millis(5'000), 3);
  window.add(at_millis(5'500), 4);
  window.take_back(second, 3);
  EXPECT_EQ(window.total(at_millis(6'000)), 4U);
}

TEST(MinuteWindow, what_has_left_by_itself_is_not_taken_back) {
  MinuteWindow window;
  const auto second = window.add(at_millis(5'000), 3);
  window.add(at_millis(66'000), 4);
  window.take_back(second, 3);
  EXPECT_EQ(window.total(at_millis(66'000)), 4U);
}

TEST(MinuteWindow, a_time_before_the_newest_counts_as_the_newest) {
  MinuteWindow window;
  window.add(at_millis(100'000), 1);
  window.add(at_millis(30'000), 1);
  EXPECT_EQ(window.total(at_millis(160'999)), 2U);
  EXPECT_EQ(window.total(at_millis(161'000)), 0U);
}

TEST(MinuteWindow, it_tells_when_there_will_be_room) {
  MinuteWindow window;
  window.add(at_millis(10'200), 2);
  window.add(at_millis(20'700), 3);
  EXPECT_EQ(window.until_at_most(at_millis(20'700), 5), seconds{0});
  EXPECT_EQ(window.until_at_most(at_millis(20'700), 4), milliseconds{50'300});
  EXPECT_EQ(window.until_at_most(at_millis(20'700), 3), milliseconds{50'300});
  EXPECT_EQ(window.until_at_most(at_millis(20'700), 2), milliseconds{60'300});
  EXPECT_EQ(window.until_at_most(at_millis(20'700), 0), milliseconds{60'300});
  EXPECT_LE(window.total(at_millis(71'000)), 4U);
}

// Against the exact log of every event, at random times and pauses: never over the limit in any
// 60 s, and never refused more than a second longer than that needs.
TEST(MinuteWindow, no_sixty_seconds_hold_more_than_the_limit) {
  std::mt19937_64 rng(11);
  for (int run = 0; run < 50; ++run) {
    MinuteWindow window;
    const std::uint64_t limit = 1 + rng() % 20;
    std::deque<std::int64_t> admitted;  // milliseconds
    std::int64_t now = 0;
    for (int step = 0; step < 2'000; ++step) {
      now += static_cast<std::int64_t>(rng() % 10 == 0 ? rng() % 70'000 : rng() % 2'000);
      const bool is_free = window.total(at_millis(now)) < limit;
      const auto within = [&](std::int64_t millis) {
        return static_cast<std::uint64_t>(
            std::ranges::count_if(admitted, [&](std::int64_t t) { return t > now - millis; }));
      };
      if (is_free) {
        ASSERT_LT(within(60'000), limit) << run << " " << step;
        window.add(at_millis(now), 1);
        admitted.push_back(now);
      } else {
        ASSERT_GE(within(61'000), limit) << run << " " << step;
      }
      while (!admitted.empty() && admitted.front() < now - 200'000) {
        admitted.pop_front();
      }
    }
  }
}

}  // namespace
}  // namespace rolter::admission
