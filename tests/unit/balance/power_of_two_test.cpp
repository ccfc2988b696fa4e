#include "rolter/balance/power_of_two.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "tests/unit/balance/fleet.h"

namespace rolter::balance {
namespace {

TEST(PowerOfTwo, never_takes_the_most_loaded) {
  PowerOfTwo strategy;
  Fleet fleet(strategy, 4);
  fleet.candidates()[2].in_flight = 1;
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_NE(fleet.pick().target, 2U);
  }
}

TEST(PowerOfTwo, each_rank_of_load_has_its_share) {
  PowerOfTwo strategy;
  Fleet fleet(strategy, 4);
  for (std::uint32_t i = 0; i < 4; ++i) {
    fleet.candidates()[i].in_flight = i;
  }
  std::vector<std::size_t> counts(4);
  for (int i = 0; i < 100'000; ++i) {
    ++counts[fleet.pick().target];
  }
  // Of the 6 pairs, the least loaded wins 3, then 2, then 1.
  EXPECT_NEAR(static_cast<double>(counts[0]), 50'000.0, 1'000.0);
  EXPECT_NEAR(static_cast<double>(counts[1]), 33'333.0, 1'000.0);
  EXPECT_NEAR(static_cast<double>(counts[2]), 16'667.0, 1'000.0);
  EXPECT_EQ(counts[3], 0U);
}

TEST(PowerOfTwo, is_uniform_among_equals) {
  PowerOfTwo strategy;
  Fleet fleet(strategy, 5);
  std::vector<std::size_t> counts(5);
  for (int i = 0; i < 100'000; ++i) {
    ++counts[fleet.pick().target];
  }
  for (const std::size_t count : counts) {
    EXPECT_NEAR(static_cast<double>(count), 20'000.0, 1'000.0);
  }
}

TEST(PowerOfTwo, believes_the_engine_where_it_says_how_long_its_queue_is) {
  PowerOfTwo strategy;
  Fleet fleet(strategy, 2);
  fleet.candidates()[0].queued = 10.0;
  fleet.candidates()[1].in_flight = 5;
  EXPECT_EQ(fleet.pick().target, 1U);
}

TEST(PowerOfTwo, a_burst_stays_nearly_even) {
  PowerOfTwo strategy;
  Fleet fleet(strategy, 8);
  for (int i = 0; i < 800; ++i) {
    (void)fleet.send();
  }
  const auto [least, most] = std::ranges::minmax(fleet.candidates(), {}, &Candidate::in_flight);
  EXPECT_LE(most.in_flight - least.in_flight, 10U);
}

TEST(PowerOfTwo, takes_the_only_one) {
  PowerOfTwo strategy;
  Fleet fleet(strategy, 1);
  EXPECT_EQ(fleet.pick().reason, Reason::kOnlyOne);
}

}  // namespace
}  // namespace rolter::balance
