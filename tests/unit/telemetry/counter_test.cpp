#include "rolter/telemetry/counter.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <set>
#include <string>

#include "rolter/telemetry/status_label.h"

namespace rolter::telemetry {
namespace {

std::uint64_t total(const TimeHistogram& histogram) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < TimeHistogram::kBuckets; ++i) {
    sum += histogram.count(i);
  }
  return sum;
}

TEST(Histogram, a_value_falls_into_the_first_bucket_that_is_not_below_it) {
  TimeHistogram histogram;
  histogram.observe(0.0);
  histogram.observe(1.0);
  histogram.observe(1.001);
  EXPECT_EQ(histogram.count(0), 2U);
  EXPECT_EQ(histogram.count(1), 1U);
  EXPECT_DOUBLE_EQ(histogram.sum(), 2.001);
}

TEST(Histogram, a_request_of_twenty_minutes_falls_into_a_finite_bucket) {
  TimeHistogram histogram;
  histogram.observe(20.0 * 60 * 1000);
  EXPECT_EQ(histogram.count(TimeHistogram::kBuckets - 1), 0U);
  EXPECT_EQ(total(histogram), 1U);
  histogram.observe(2.0 * 3600 * 1000);
  EXPECT_EQ(histogram.count(TimeHistogram::kBuckets - 1), 1U);
}

TEST(StatusLabel, known_codes_have_a_series_and_others_their_class) {
  EXPECT_EQ(kStatusNames.at(status_label_index(200)), "200");
  EXPECT_EQ(kStatusNames.at(status_label_index(429)), "429");
  EXPECT_EQ(kStatusNames.at(status_label_index(201)), "2xx");
  EXPECT_EQ(kStatusNames.at(status_label_index(302)), "3xx");
  EXPECT_EQ(kStatusNames.at(status_label_index(418)), "4xx");
  EXPECT_EQ(kStatusNames.at(status_label_index(599)), "5xx");
}

TEST(StatusLabel, whatever_a_replica_invents_makes_no_more_than_the_known_series) {
  std::set<std::size_t> seen;
  for (int status = -10; status < 2000; ++status) {
    seen.insert(status_label_index(status));
  }
  EXPECT_EQ(seen.size(), kStatusLabels);
}

}  // namespace
}  // namespace rolter::telemetry
