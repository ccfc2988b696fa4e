#include "rolter/cli/demo_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "rolter/simulator/json_writer.h"

namespace rolter::cli {
namespace {

std::vector<double> sorted(std::vector<double> values) {
  std::ranges::sort(values);
  return values;
}

}  // namespace

double percentile(const std::vector<double>& sorted, double part) {
  if (sorted.empty()) {
    return 0.0;
  }
  const auto rank = static_cast<std::size_t>(std::ceil(part * static_cast<double>(sorted.size())));
  return sorted[std::clamp<std::size_t>(rank, 1, sorted.size()) - 1];
}

double mean(const std::vector<double>& values) {
  return values.empty() ? 0.0
                        : std::accumulate(values.begin(), values.end(), 0.0) /
                              static_cast<double>(values.size());
}

double spread(const StrategyReport& report) {
  std::uint64_t most = 0;
  std::uint64_t sum = 0;
  for (const TargetReport& target : report.targets) {
    most = std::max(most, target.computed_prefill_tokens);
    sum += target.computed_prefill_tokens;
  }
  return sum == 0 ? 1.0
                  : static_cast<double>(most) * static_cast<double>(report.targets.size()) /
                        static_cast<double>(sum);
}

std::string report_table(const std::vector<StrategyReport>& reports) {
  std::string table =
      fmt::format("{:<20} {:>8} {:>6} {:>7} {:>9} {:>9} {:>8} {:>8} {:>8} {:>9} {:>7}\n",
                  "strategy", "requests", "errors", "refused", "hit rate", "TTFT mean", "p50",
                  "p90", "p99", "tokens/s", "spread");
  for (const StrategyReport& report : reports) {
    const std::vector<double> times = sorted(report.first_token_s);
    fmt::format_to(
        std::back_inserter(table),
        "{:<20} {:>8} {:>6} {:>7} {:>7.1f} % {:>7.3f} s {:>6.3f} s {:>6.3f} s {:>6.3f} s "
        "{:>9.0f} {:>7.2f}\n",
        report.strategy, report.requests, report.errors, report.refused,
        report.token_hit_rate * 100.0, mean(times), percentile(times, 0.5), percentile(times, 0.9),
        percentile(times, 0.99), report.tokens_per_s, spread(report));
  }
  return table;
}

std::string report_json(const std::vector<StrategyReport>& reports) {
  simulator::JsonWriter json;
  json.array();
  for (const StrategyReport& report : reports) {
    const std::vector<double> times = sorted(report.first_token_s);
    json.object().text("strategy", report.strategy).number("requests", report.requests);
    json.number("errors", report.errors).number("refused", report.refused);
    json.decimal("token_hit_rate", report.token_hit_rate);
    json.decimal("ttft_mean_s", mean(times)).decimal("ttft_p50_s", percentile(times, 0.5));
    json.decimal("ttft_p90_s", percentile(times, 0.9));
    json.decimal("ttft_p99_s", percentile(times, 0.99));
    json.decimal("tokens_per_s", report.tokens_per_s).array("per_target");
    for (const TargetReport& target : report.targets) {
      json.object().text("target", target.target).number("requests", target.requests);
      json.number("computed_prefill_tokens", target.computed_prefill_tokens).end();
    }
    json.end().end();
  }
  return json.end().take();
}

}  // namespace rolter::cli
