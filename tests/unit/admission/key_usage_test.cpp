#include "rolter/admission/key_usage.h"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace rolter::admission {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TimePoint at_second(std::int64_t secs) {
  return TimePoint{seconds{secs}};
}

struct Usage {
  KeyLimits limits;
  std::shared_ptr<KeyUsage> usage = std::make_shared<KeyUsage>();

  [[nodiscard]] std::expected<Admission, Refused> admit(std::int64_t secs,
                                                        std::uint64_t tokens = 0) const {
    return usage->admit(limits, tokens, at_second(secs));
  }
};

TEST(KeyUsage, requests_pass_up_to_the_limit_of_a_minute) {
  const Usage key{{.requests_per_minute = 2}};
  EXPECT_TRUE(key.admit(100));
  EXPECT_TRUE(key.admit(110));
  const auto refused = key.admit(120);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().limit, Limit::kRequests);
  EXPECT_EQ(refused.error().allowed, 2U);
  EXPECT_EQ(refused.error().retry_after, seconds{41});
  EXPECT_FALSE(key.admit(160));
  EXPECT_TRUE(key.admit(161));
  EXPECT_FALSE(key.admit(162));
}

// Bursts of 50 every second for five minutes against a limit of 2 a minute.
TEST(KeyUsage, refused_requests_count_for_nothing) {
  const Usage key{{.requests_per_minute = 2}};
  std::deque<std::int64_t> admitted;
  for (std::int64_t second = 0; second < 300; ++second) {
    for (int i = 0; i < 50; ++i) {
      if (key.admit(second)) {
        admitted.push_back(second);
      }
    }
  }
  EXPECT_EQ(admitted, (std::deque<std::int64_t>{0, 0, 61, 61, 122, 122, 183, 183, 244, 244}));
  EXPECT_EQ(key.usage->in_flight(), 0U);
}

TEST(KeyUsage, places_in_flight_come_back_when_the_request_ends) {
  const Usage key{{.max_in_flight = 2}};
  auto one = key.admit(1);
  auto two = key.admit(1);
  ASSERT_TRUE(one && two);
  const auto refused = key.admit(1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().limit, Limit::kInFlight);
  EXPECT_EQ(refused.error().retry_after, seconds{1});
  EXPECT_EQ(key.usage->in_flight(), 2U);
  *one = Admission();
  auto three = key.admit(1);
  ASSERT_TRUE(three);
  const Admission moved = std::move(*three);
  EXPECT_EQ(key.usage->in_flight(), 2U);
}

TEST(KeyUsage, an_admission_ends_once_however_it_is_moved) {
  const Usage key{{.max_in_flight = 5}};
  {
    Admission one = *key.admit(1);
    Admission two = *key.admit(1);
    two = std::move(one);
    EXPECT_EQ(key.usage->in_flight(), 1U);
    Admission three(std::move(two));
    EXPECT_EQ(key.usage->in_flight(), 1U);
    three.cancel();
    EXPECT_EQ(key.usage->in_flight(), 0U);
  }
  EXPECT_EQ(key.usage->in_flight(), 0U);
}

TEST(KeyUsage, running_requests_hold_the_tokens_they_may_need) {
  const Usage key{{.tokens_per_minute = 100}};
  auto one = key.admit(1, 60);
  ASSERT_TRUE(one);
  const auto refused = key.admit(1, 50);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().limit, Limit::kTokens);
  EXPECT_EQ(refused.error().allowed, 100U);
  EXPECT_EQ(refused.error().asked, 50U);
  EXPECT_TRUE(key.admit(1, 40));
}

TEST(KeyUsage, a_settled_request_counts_what_it_really_used_from_then_on) {
  const Usage key{{.tokens_per_minute = 100}};
  {
    auto one = key.admit(1, 90);
    one->settle(30, at_second(50));
  }
  EXPECT_FALSE(key.admit(51, 71));
  EXPECT_TRUE(key.admit(51, 70));
  EXPECT_EQ(key.admit(60, 71).error().retry_after, seconds{51});
  EXPECT_TRUE(key.admit(111, 100));
}

TEST(KeyUsage, a_request_that_used_nothing_gives_everything_back) {
  const Usage key{{.tokens_per_minute = 100}};
  {
    const auto failed = key.admit(1, 100);
  }
  EXPECT_TRUE(key.admit(1, 100));
}

TEST(KeyUsage, more_tokens_than_foreseen_keep_the_next_requests_out) {
  const Usage key{{.tokens_per_minute = 100}};
  key.admit(1, 10)->settle(150, at_second(2));
  EXPECT_FALSE(key.admit(3, 1));
  EXPECT_EQ(key.usage->status(key.limits, at_second(3)).tokens.remaining, 0U);
  EXPECT_TRUE(key.admit(63, 1));
}

TEST(KeyUsage, a_request_greater_than_the_limit_never_passes_and_is_told_so) {
  const Usage key{{.tokens_per_minute = 100}};
  const auto refused = key.admit(1, 101);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().retry_after, std::nullopt);
  EXPECT_EQ(describe(refused.error()),
            "the key may use 100 tokens a minute and this request may need 101; send a shorter "
            "prompt or a lower max_tokens");
}

TEST(KeyUsage, one_limit_reached_takes_nothing_from_the_others) {
  const Usage key{{.requests_per_minute = 10, .tokens_per_minute = 100, .max_in_flight = 10}};
  EXPECT_FALSE(key.admit(1, 101));
  const Usage narrow{{.requests_per_minute = 10, .max_in_flight = 1}, key.usage};
  const auto running = narrow.admit(1);
  EXPECT_FALSE(narrow.admit(1));
  const KeyStatus status = key.usage->status(key.limits, at_second(1));
  EXPECT_EQ(status.requests.remaining, 9U);
  EXPECT_EQ(status.tokens.remaining, 100U);
  EXPECT_EQ(key.usage->in_flight(), 1U);
}

TEST(KeyUsage, a_request_the_gateway_refused_itself_is_taken_back) {
  const Usage key{{.requests_per_minute = 1, .tokens_per_minute = 10}};
  key.admit(1, 10)->cancel();
  EXPECT_TRUE(key.admit(1, 10));
  EXPECT_FALSE(key.admit(1, 10));
}

TEST(KeyUsage, the_status_tells_limit_rest_and_reset) {
  const Usage key{{.requests_per_minute = 5, .tokens_per_minute = 100}};
  key.admit(10, 40)->settle(25, at_second(12));
  const auto running = key.admit(20, 30);
  const KeyStatus status = key.usage->status(key.limits, at_second(30));
  EXPECT_EQ(status.requests.limit, 5U);
  EXPECT_EQ(status.requests.remaining, 3U);
  EXPECT_EQ(status.requests.reset, seconds{51});
  EXPECT_EQ(status.tokens.limit, 100U);
  EXPECT_EQ(status.tokens.remaining, 45U);
  EXPECT_EQ(status.tokens.reset, seconds{43});
}

TEST(KeyUsage, refusals_say_what_the_limit_is_and_when_to_come_again) {
  EXPECT_EQ(describe({Limit::kRequests, 60, 0, milliseconds{1500}}),
            "the key may send 60 requests a minute; retry in 2 s");
  EXPECT_EQ(describe({Limit::kInFlight, 3, 0, seconds{1}}),
            "the key may have 3 requests running at once; retry in 1 s");
  EXPECT_EQ(describe({Limit::kTokens, 100, 7, milliseconds{0}}),
            "the key may use 100 tokens a minute and this request may need 7; retry in 1 s");
}

TEST(KeyUsage, threads_together_never_pass_a_limit) {
  const Usage key{{.requests_per_minute = 500, .tokens_per_minute = 40, .max_in_flight = 3}};
  std::atomic<int> running{0};
  std::atomic<int> most{0};
  std::atomic<int> admitted{0};
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2'000; ++i) {
        if (const auto admission = key.admit(1, 10)) {
          const int now_running = ++running;
          int seen = most.load();
          while (now_running > seen && !most.compare_exchange_weak(seen, now_running)) {
          }
          ++admitted;
          --running;
        }
      }
    });
  }
  threads.clear();
  EXPECT_LE(most, 3);
  EXPECT_EQ(admitted, 500);
  EXPECT_EQ(key.usage->in_flight(), 0U);
  EXPECT_EQ(key.usage->status(key.limits, at_second(1)).tokens.remaining, 40U);
}

}  // namespace
}  // namespace rolter::admission
