#include "rolter/telemetry/metrics_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace rolter::telemetry {
namespace {

using testing::HasSubstr;
using testing::Not;

const Vocabulary kWords{.errors = {"", "reset", "timeout"},
                        .reasons = {"only_one", "prefix"},
                        .fallbacks = {"fail_open"},
                        .probes = {"passed", "failed"}};

LayoutNames two_routes() {
  return {.routes = {{.route = "llama", .targets = {"a/llama-3", "b/llama-3"}},
                     {.route = "qwen", .targets = {"a/qwen"}}},
          .providers = {"a", "b"},
          .keys = {"team"}};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream{text};
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

bool has_line(const std::string& text, const std::string& line) {
  return std::ranges::count(lines_of(text), line) == 1;
}

class MetricsRegistryTest : public testing::Test {
 protected:
  MetricsRegistry registry_{2, kWords, {.version = "1.2.3", .commit = "abc"}};
};

TEST_F(MetricsRegistryTest, a_scrape_adds_up_what_the_loops_counted) {
  const auto layout = registry_.apply(two_routes());
  TargetSeries& target = *layout->routes[0].targets[1];
  target.on(0).answered(200);
  target.on(1).answered(200);
  target.on(1).answered(418);
  target.on(0).ttft_ms.observe(40);
  target.on(1).ttft_ms.observe(3'000'000);
  registry_.loop(1).client_disconnects.add(3);
  const std::string text = registry_.expose();
  EXPECT_TRUE(
      has_line(text, R"(rolter_requests_total{route="llama",target="b/llama-3",status="200"} 2)"))
      << text;
  EXPECT_TRUE(
      has_line(text, R"(rolter_requests_total{route="llama",target="b/llama-3",status="4xx"} 1)"));
  EXPECT_THAT(text,
              HasSubstr(R"(rolter_request_ttft_ms_count{route="llama",target="b/llama-3"} 2)"));
  EXPECT_THAT(
      text,
      HasSubstr(R"(rolter_request_ttft_ms_bucket{route="llama",target="b/llama-3",le="50"} 1)"));
  EXPECT_THAT(
      text,
      HasSubstr(
          R"(rolter_request_ttft_ms_bucket{route="llama",target="b/llama-3",le="3600000"} 2)"));
  EXPECT_TRUE(has_line(text, "rolter_client_disconnects_total 3"));
  EXPECT_TRUE(has_line(text, R"(rolter_build_info{version="1.2.3",commit="abc"} 1)"));
}

TEST_F(MetricsRegistryTest, fixed_label_sets_are_there_at_zero_from_the_start) {
  (void)registry_.apply(two_routes());
  const std::string text = registry_.expose();
  for (const char* line :
       {R"(rolter_requests_total{route="llama",target="a/llama-3",status="503"} 0)",
        R"(rolter_requests_total{route="llama",target="none",status="404"} 0)",
        R"(rolter_requests_total{route="unknown",target="none",status="404"} 0)",
        R"(rolter_upstream_errors_total{route="qwen",target="a/qwen",error="reset"} 0)",
        R"(rolter_retries_total{route="qwen",target="a/qwen"} 0)",
        R"(rolter_decisions_total{route="llama",reason="prefix"} 0)",
        R"(rolter_fallbacks_total{route="qwen",cause="fail_open"} 0)",
        R"(rolter_queue_refused_total{route="qwen",cause="full"} 0)",
        R"(rolter_cooldowns_tripped_total{target="b"} 0)",
        R"(rolter_breaker_opened_total{target="a"} 0)",
        R"(rolter_health_probes_total{target="a",result="failed"} 0)",
        R"(rolter_key_tokens_total{key="team",kind="cached"} 0)",
        "rolter_client_disconnects_total 0"}) {
    EXPECT_TRUE(has_line(text, line)) << line;
  }
  EXPECT_THAT(text, Not(HasSubstr(R"(error="")"))) << "a word left out makes no series";
}

TEST_F(MetricsRegistryTest, series_of_a_target_that_is_gone_go_and_the_others_go_on) {
  const auto before = registry_.apply(two_routes());
  before->routes[0].targets[0]->on(0).answered(200);
  before->routes[0].targets[1]->on(0).answered(200);
  const auto after = registry_.apply(
      {.routes = {{.route = "llama", .targets = {"b/llama-3"}}}, .providers = {"b"}, .keys = {}});
  before->routes[0].targets[0]->on(0).answered(200);  // a request that was under way
  after->routes[0].targets[0]->on(0).answered(200);
  const std::string text = registry_.expose();
  EXPECT_THAT(text, Not(HasSubstr("a/llama-3")));
  EXPECT_THAT(text, Not(HasSubstr("qwen")));
  EXPECT_THAT(text, Not(HasSubstr("team")));
  EXPECT_TRUE(
      has_line(text, R"(rolter_requests_total{route="llama",target="b/llama-3",status="200"} 2)"));
}

TEST_F(MetricsRegistryTest, a_name_given_twice_is_one_series) {
  LayoutNames names = two_routes();
  names.keys = {"team", "team"};
  names.routes[0].targets = {"a/llama-3", "a/llama-3"};
  names.routes.push_back({.route = "unknown", .targets = {}});
  const auto layout = registry_.apply(names);
  layout->keys[0]->on(0).requests.add();
  layout->keys[1]->on(0).requests.add();
  const std::vector<std::string> lines = lines_of(registry_.expose());
  std::set<std::string> series;
  for (const std::string& line : lines) {
    if (!line.starts_with('#')) {
      EXPECT_TRUE(series.insert(line.substr(0, line.rfind(' '))).second) << line;
    }
  }
  EXPECT_EQ(std::ranges::count(lines, R"(rolter_key_requests_total{key="team"} 2)"), 1);
}

TEST_F(MetricsRegistryTest, odd_names_are_escaped) {
  (void)registry_.apply(
      {.routes = {{.route = "a\"b\\c\nd", .targets = {}}}, .providers = {}, .keys = {}});
  EXPECT_THAT(registry_.expose(), HasSubstr(R"(route="a\"b\\c\nd")"));
}

TEST_F(MetricsRegistryTest, sources_add_their_gauges) {
  registry_.add_source([](ScrapeSink& sink) {
    sink.set(Metric::kInFlight, {"llama", "a/llama-3"}, 7);
    sink.set(Metric::kConfigVersion, {}, 3);
  });
  const std::string text = registry_.expose();
  EXPECT_TRUE(has_line(text, R"(rolter_in_flight{route="llama",target="a/llama-3"} 7)"));
  EXPECT_TRUE(has_line(text, "# TYPE rolter_in_flight gauge"));
  EXPECT_TRUE(has_line(text, "rolter_config_version 3"));
  EXPECT_THAT(text, Not(HasSubstr("rolter_kv_blocks"))) << "a family without a series is left out";
}

TEST_F(MetricsRegistryTest, scrapes_and_reloads_may_run_while_loops_count) {
  constexpr int kEach = 20'000;
  const auto layout = registry_.apply(two_routes());
  {
    std::vector<std::jthread> loops;
    for (std::size_t loop = 0; loop < 2; ++loop) {
      loops.emplace_back([&, loop] {
        for (int i = 0; i < kEach; ++i) {
          layout->routes[0].targets[0]->on(loop).answered(200);
          layout->routes[0].targets[0]->on(loop).latency_ms.observe(i);
          layout->routes[0].route->on(loop).decisions[1].add();
        }
      });
    }
    for (int i = 0; i < 20; ++i) {
      (void)registry_.apply(two_routes());
      (void)registry_.expose();
    }
  }
  const std::string text = registry_.expose();
  EXPECT_TRUE(has_line(
      text, R"(rolter_requests_total{route="llama",target="a/llama-3",status="200"} 40000)"));
  EXPECT_TRUE(has_line(text, R"(rolter_decisions_total{route="llama",reason="prefix"} 40000)"));
}

/// The two findings are names of the original gateway that existing dashboards ask for.
TEST_F(MetricsRegistryTest, promtool_finds_nothing_but_the_two_names_kept_for_dashboards) {
  const char* promtool = std::getenv("ROLTER_PROMTOOL");
  const std::string tool = promtool != nullptr ? promtool : "promtool";
  if (std::system((tool + " --version >/dev/null 2>&1").c_str()) != 0) {
    GTEST_SKIP() << "promtool is not installed (apt install prometheus)";
  }
  const auto layout = registry_.apply(two_routes());
  layout->routes[0].targets[0]->on(0).latency_ms.observe(12);
  registry_.add_source([](ScrapeSink& sink) {
    for (const MetricDefinition& metric : metric_catalogue()) {
      if (metric.type == MetricType::kGauge && metric.metric != Metric::kBuildInfo) {
        metric.label_count() == 0   ? sink.set(metric.metric, {}, 1)
        : metric.label_count() == 1 ? sink.set(metric.metric, {"x"}, 1)
                                    : sink.set(metric.metric, {"x", "y"}, 1);
      }
    }
  });
  const std::string base = testing::TempDir() + "rolter_metrics";
  std::ofstream{base + ".prom"} << registry_.expose();
  (void)std::system((tool + " check metrics <" + base + ".prom >" + base + ".out 2>&1").c_str());
  std::ifstream output{base + ".out"};
  std::vector<std::string> findings;
  for (std::string line; std::getline(output, line);) {
    findings.push_back(line);
  }
  EXPECT_THAT(findings,
              testing::UnorderedElementsAre(
                  "rolter_request_latency_ms metric names should not contain abbreviated units",
                  "rolter_request_ttft_ms metric names should not contain abbreviated units"));
}

}  // namespace
}  // namespace rolter::telemetry
