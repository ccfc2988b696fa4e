#include "rolter/cluster/retry_after.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace rolter::cluster {
namespace {

using std::chrono::seconds;
using namespace std::chrono_literals;

// 1994-11-06 08:49:37 UTC, the example of RFC 9110.
const WallTime kExample =
    WallTime{std::chrono::sys_days{std::chrono::year{1994} / 11 / 6}} + 8h + 49min + 37s;

TEST(RetryAfter, reads_seconds) {
  EXPECT_EQ(parse_retry_after("0", kExample), seconds{0});
  EXPECT_EQ(parse_retry_after("120", kExample), seconds{120});
  EXPECT_EQ(parse_retry_after(" 7\t", kExample), seconds{7});
}

TEST(RetryAfter, a_huge_number_becomes_a_year) {
  EXPECT_EQ(parse_retry_after("31536001", kExample), seconds{31536000});
  EXPECT_EQ(parse_retry_after(std::string(500, '9'), kExample), seconds{31536000});
}

TEST(RetryAfter, reads_all_three_forms_of_a_date) {
  const WallTime before = kExample - 90s;
  for (const char* date : {"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
                           "Sun Nov  6 08:49:37 1994"}) {
    EXPECT_EQ(parse_retry_after(date, before), seconds{90}) << date;
  }
}

TEST(RetryAfter, a_date_in_the_past_is_no_wait) {
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:49:37 GMT", kExample + 1h), seconds{0});
}

TEST(RetryAfter, part_of_a_second_is_rounded_up) {
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:49:37 GMT", kExample - 1500ms), seconds{2});
}

TEST(RetryAfter, a_two_digit_year_is_within_fifty_years) {
  const WallTime now = WallTime{std::chrono::sys_days{std::chrono::year{2026} / 1 / 1}};
  const auto year_of = [&](const char* text) {
    const auto time = parse_http_date(text, now);
    const std::chrono::year_month_day day{std::chrono::floor<std::chrono::days>(time.value())};
    return static_cast<int>(day.year());
  };
  EXPECT_EQ(year_of("Friday, 06-Nov-26 08:49:37 GMT"), 2026);
  EXPECT_EQ(year_of("Friday, 06-Nov-76 08:49:37 GMT"), 2076);
  EXPECT_EQ(year_of("Sunday, 06-Nov-94 08:49:37 GMT"), 1994);
}

TEST(RetryAfter, anything_else_is_nothing) {
  for (const char* text : {"",
                           " ",
                           "-1",
                           "+5",
                           "1.5",
                           "5s",
                           "soon",
                           "0x10",
                           "Sun, 06 Nov 1994 08:49:37",
                           "Sun, 06 Nov 1994 08:49:37 UTC",
                           "Sun, 31 Feb 1994 08:49:37 GMT",
                           "Sun, 06 Foo 1994 08:49:37 GMT",
                           "Sun, 06 Nov 1994 24:00:00 GMT",
                           "Sun, 06 Nov 1994 08:60:00 GMT",
                           "Sun, 06 Nov 1994 08:49:37 GMT x",
                           "Sun, 06 Nov 0000 08:49:37 GMT",
                           "Sun Nov 6 08:49:37 1994",
                           "Sun",
                           "Sun, ",
                           "Sunday, 06-Nov-1994 08:49:37 GMT"}) {
    EXPECT_EQ(parse_retry_after(text, kExample), std::nullopt) << text;
  }
}

TEST(RetryAfter, every_truncation_of_a_date_is_nothing) {
  for (const std::string date : {"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
                                 "Sun Nov  6 08:49:37 1994"}) {
    for (std::size_t length = 0; length < date.size(); ++length) {
      EXPECT_EQ(parse_retry_after(date.substr(0, length), kExample), std::nullopt)
          << date.substr(0, length);
    }
  }
}

}  // namespace
}  // namespace rolter::cluster
