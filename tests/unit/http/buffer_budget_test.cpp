#include "rolter/http/buffer_budget.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace rolter::http {
namespace {

constexpr std::size_t kFree = BufferBudget::kFreeBytes;

TEST(BufferBudget, what_each_may_hold_anyway_does_not_count) {
  BufferBudget budget;
  BufferBudget::Share share(&budget);
  EXPECT_TRUE(share.grow_to(kFree, 1));
  EXPECT_EQ(budget.held(), 0);
}

TEST(BufferBudget, shares_together_stay_within_the_limit_and_a_refusal_takes_nothing) {
  BufferBudget budget;
  BufferBudget::Share first(&budget);
  BufferBudget::Share second(&budget);
  EXPECT_TRUE(first.grow_to(kFree + 1, 3 * kFree));
  EXPECT_TRUE(first.grow_to(2 * kFree, 3 * kFree));
  EXPECT_FALSE(second.grow_to(2 * kFree, 3 * kFree));
  EXPECT_EQ(budget.held(), 2 * kFree);
  first.release();
  EXPECT_TRUE(second.grow_to(3 * kFree, 3 * kFree));
  EXPECT_TRUE(second.grow_to(kFree + 1, 3 * kFree));  // a buffer that is large enough already
  EXPECT_EQ(budget.held(), 3 * kFree);
}

TEST(BufferBudget, a_share_that_goes_gives_back_and_one_without_budget_has_no_limit) {
  BufferBudget budget;
  {
    BufferBudget::Share share(&budget);
    EXPECT_TRUE(share.grow_to(5 * kFree, 0));
    EXPECT_EQ(budget.held(), 5 * kFree);
  }
  EXPECT_EQ(budget.held(), 0);
  EXPECT_TRUE(BufferBudget::Share(nullptr).grow_to(std::size_t{1} << 40U, 1));
}

TEST(BufferBudget, threads_together_never_pass_the_limit) {
  BufferBudget budget;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&budget] {  // allowed(threads): a test's own
      for (int i = 0; i < 10'000; ++i) {
        BufferBudget::Share share(&budget);
        if (share.grow_to(kFree + 1, 2 * (kFree + 1))) {
          EXPECT_LE(budget.held(), 5 * (kFree + 1));  // what the four are just trying included
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(budget.held(), 0);
}

}  // namespace
}  // namespace rolter::http
