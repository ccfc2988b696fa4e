#include "rolter/admission/rate_limit_headers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rolter::admission {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(RateLimitHeaders, each_limit_has_three) {
  const KeyStatus status{{60, 59, seconds{61}}, {1000, 0, milliseconds{1500}}};
  EXPECT_THAT(rate_limit_headers(status), ElementsAre(Pair("x-ratelimit-limit-requests", "60"),
                                                      Pair("x-ratelimit-remaining-requests", "59"),
                                                      Pair("x-ratelimit-reset-requests", "1m1s"),
                                                      Pair("x-ratelimit-limit-tokens", "1000"),
                                                      Pair("x-ratelimit-remaining-tokens", "0"),
                                                      Pair("x-ratelimit-reset-tokens", "1.5s")));
}

TEST(RateLimitHeaders, a_limit_that_is_off_has_none) {
  EXPECT_THAT(rate_limit_headers({}), IsEmpty());
  EXPECT_EQ(rate_limit_headers({{60, 59, seconds{1}}, {}}).size(), 3U);
}

TEST(RateLimitHeaders, the_reset_is_written_as_minutes_seconds_or_milliseconds) {
  EXPECT_EQ(format_reset(Duration{0}), "0s");
  EXPECT_EQ(format_reset(Duration{1}), "1ms");
  EXPECT_EQ(format_reset(milliseconds{999}), "999ms");
  EXPECT_EQ(format_reset(seconds{1}), "1s");
  EXPECT_EQ(format_reset(milliseconds{59'999}), "59.999s");
  EXPECT_EQ(format_reset(seconds{60}), "1m0s");
}

}  // namespace
}  // namespace rolter::admission
