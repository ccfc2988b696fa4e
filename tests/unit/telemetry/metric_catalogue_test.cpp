#include "rolter/telemetry/metric_catalogue.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <vector>

namespace rolter::telemetry {
namespace {

std::string documentation_row(const MetricDefinition& metric) {
  std::string labels;
  for (std::size_t i = 0; i < metric.label_count(); ++i) {
    labels += fmt::format("{}`{}`", i == 0 ? "" : ", ", metric.labels.at(i));
  }
  return fmt::format("| `{}` | {} | {} | {} |", metric.name, to_string(metric.type),
                     labels.empty() ? "-" : labels, metric.help);
}

TEST(MetricCatalogue, metrics_md_lists_every_metric_with_type_labels_and_meaning_and_no_other) {
  const char* source_dir = std::getenv("ROLTER_SOURCE_DIR");
  ASSERT_NE(source_dir, nullptr);
  std::ifstream file{std::string{source_dir} + "/docs/operations/metrics.md"};
  ASSERT_TRUE(file) << "docs/operations/metrics.md is missing";
  std::vector<std::string> documented;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("| `rolter_")) {
      documented.push_back(line);
    }
  }
  std::vector<std::string> expected;
  for (const MetricDefinition& metric : metric_catalogue()) {
    expected.push_back(documentation_row(metric));
  }
  EXPECT_THAT(documented, testing::UnorderedElementsAreArray(expected));
}

TEST(MetricCatalogue, names_are_unique_and_follow_prometheus) {
  std::set<std::string_view> names;
  for (const MetricDefinition& metric : metric_catalogue()) {
    EXPECT_TRUE(names.insert(metric.name).second) << metric.name;
    EXPECT_TRUE(metric.name.starts_with("rolter_")) << metric.name;
    EXPECT_EQ(metric.name.ends_with("_total"), metric.type == MetricType::kCounter) << metric.name;
    EXPECT_TRUE(metric.help.ends_with('.')) << metric.name;
  }
}

TEST(MetricCatalogue, the_names_that_dashboards_of_the_original_use_are_there) {
  std::set<std::string_view> names;
  for (const MetricDefinition& metric : metric_catalogue()) {
    names.insert(metric.name);
  }
  for (const char* name :
       {"rolter_requests_total", "rolter_request_latency_ms", "rolter_request_ttft_ms",
        "rolter_upstream_errors_total", "rolter_retries_total", "rolter_cooldowns_tripped_total",
        "rolter_breaker_opened_total", "rolter_config_version"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

}  // namespace
}  // namespace rolter::telemetry
