#include "rolter/cluster/retry_budget.h"
#include "tests/unit/cluster/start.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace rolter::cluster {
namespace {

using namespace std::chrono_literals;

int spend_all(RetryBudget& budget, TimePoint now) {
  int spent = 0;
  while (spent < 100'000 && budget.try_spend(now)) {
    ++spent;
  }
  return spent;
}

void requests(RetryBudget& budget, int count, std::size_t loop = 0) {
  for (int i = 0; i < count; ++i) {
    budget.count_request(loop);
  }
}

TEST(RetryBudget, a_quiet_gateway_may_retry_ten_a_second) {
  RetryBudget budget(0.2, 1);
  requests(budget, 3);
  EXPECT_EQ(spend_all(budget, kStart), 100);
  EXPECT_EQ(spend_all(budget, kStart + 5s), 0);
  EXPECT_EQ(spend_all(budget, kStart + 10s), 100);
}

TEST(RetryBudget, a_busy_one_may_retry_its_share) {
  RetryBudget budget(0.2, 2);
  requests(budget, 600, 0);
  requests(budget, 400, 1);
  EXPECT_EQ(spend_all(budget, kStart), 200) << "of all loops together";
}

TEST(RetryBudget, an_outage_in_which_every_request_fails_stays_within_the_share) {
  RetryBudget budget(0.2, 1);
  int spent = 0;
  for (int second = 0; second < 100; ++second) {
    for (int i = 0; i < 500; ++i) {
      budget.count_request(0);
      spent += budget.try_spend(kStart + std::chrono::seconds{second}) ? 1 : 0;
    }
  }
  EXPECT_LE(spent, 10'000 + 100);
  EXPECT_GE(spent, 9'900);
}

TEST(RetryBudget, requests_of_long_ago_pay_for_nothing) {
  RetryBudget budget(0.2, 1);
  EXPECT_TRUE(budget.try_spend(kStart));
  requests(budget, 1'000'000);
  EXPECT_TRUE(budget.try_spend(kStart + 1s)) << "looked at while they were fresh";
  EXPECT_EQ(spend_all(budget, kStart + 100s), 100);
}

TEST(RetryBudget, what_came_unwatched_is_spread_over_the_time_it_took) {
  RetryBudget budget(0.2, 1);
  EXPECT_TRUE(budget.try_spend(kStart));
  requests(budget, 100'000);  // 1,000 a second for 100 s
  EXPECT_NEAR(spend_all(budget, kStart + 100s), 0.2 * 10 * 1'000, 50);
}

TEST(RetryBudget, a_loop_whose_clock_is_behind_does_no_harm) {
  RetryBudget budget(0.2, 1);
  EXPECT_TRUE(budget.try_spend(kStart));
  EXPECT_TRUE(budget.try_spend(kStart - 1500ms));
  EXPECT_EQ(spend_all(budget, kStart), 98);
}

TEST(RetryBudget, a_reload_may_change_the_share) {
  RetryBudget budget(0.2, 1);
  requests(budget, 10'000);
  budget.configure(0.5);
  EXPECT_EQ(spend_all(budget, kStart), 5'000);
}

TEST(RetryBudget, threads_together_spend_no_more_than_there_is) {
  RetryBudget budget(0.2, 4);
  std::atomic<int> spent{0};
  {
    std::vector<std::jthread> loops;
    for (std::size_t loop = 0; loop < 4; ++loop) {
      loops.emplace_back([&budget, &spent, loop] {
        for (int i = 0; i < 5'000; ++i) {
          budget.count_request(loop);
          spent.fetch_add(budget.try_spend(kStart) ? 1 : 0);
        }
      });
    }
  }
  EXPECT_LE(spent.load(), 4'000);
  EXPECT_GT(spent.load(), 100);
}

}  // namespace
}  // namespace rolter::cluster
