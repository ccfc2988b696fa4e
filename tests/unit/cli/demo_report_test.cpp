#include "rolter/cli/demo_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rolter::cli {
namespace {

using ::testing::HasSubstr;

StrategyReport report() {
  StrategyReport report;
  report.strategy = "cache_aware";
  report.requests = 4;
  report.errors = 1;
  report.refused = 2;
  report.token_hit_rate = 0.75;
  report.first_token_s = {0.4, 0.1, 0.2, 0.3};
  report.tokens_per_s = 120.5;
  report.targets = {{"replica-1/m", 3, 300}, {"replica-2/m", 1, 100}};
  return report;
}

TEST(DemoReport, percentiles_are_by_nearest_rank) {
  const std::vector<double> values = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  EXPECT_EQ(percentile(values, 0.5), 5);
  EXPECT_EQ(percentile(values, 0.9), 9);
  EXPECT_EQ(percentile(values, 0.99), 10);
  EXPECT_EQ(percentile(values, 0.0), 1);
  EXPECT_EQ(percentile({}, 0.5), 0);
}

TEST(DemoReport, spread_is_the_most_over_the_mean) {
  EXPECT_DOUBLE_EQ(spread(report()), 1.5);
  EXPECT_DOUBLE_EQ(spread(StrategyReport{}), 1.0);
}

TEST(DemoReport, json_has_the_members_that_scripts_read) {
  EXPECT_EQ(report_json({report()}),
            R"([{"strategy":"cache_aware","requests":4,"errors":1,"refused":2,)"
            R"("token_hit_rate":0.75,"ttft_mean_s":0.25,"ttft_p50_s":0.2,"ttft_p90_s":0.4,)"
            R"("ttft_p99_s":0.4,"tokens_per_s":120.5,"per_target":[)"
            R"({"target":"replica-1/m","requests":3,"computed_prefill_tokens":300},)"
            R"({"target":"replica-2/m","requests":1,"computed_prefill_tokens":100}]}])");
  EXPECT_EQ(report_json({}), "[]");
}

TEST(DemoReport, the_table_has_a_line_per_strategy) {
  const std::string table = report_table({report()});
  EXPECT_THAT(table, HasSubstr("hit rate"));
  EXPECT_THAT(table, HasSubstr("75.0 %"));
  EXPECT_THAT(table, HasSubstr("0.250 s"));
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 2);
}

}  // namespace
}  // namespace rolter::cli
