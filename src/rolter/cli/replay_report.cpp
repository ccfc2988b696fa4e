#include "rolter/cli/replay_report.h"

#include <fmt/format.h>

#include <iterator>
#include <string_view>

#include "rolter/cli/demo_report.h"
#include "rolter/openai/json_writer.h"

namespace rolter::cli {
namespace {

using simulator::replay::Outcome;

double tokens_per_s(const Outcome& outcome) {
  return outcome.seconds == 0.0 ? 0.0
                                : static_cast<double>(outcome.generated_tokens) / outcome.seconds;
}

std::string cell(const std::optional<double>& value) {
  return value ? fmt::format("{:.3f}", *value) : "-";
}

void write(openai::JsonWriter& json, std::string_view key, const std::optional<double>& value) {
  value ? json.decimal(key, *value) : json.null(key);
}

}  // namespace

std::string replay_table(const std::vector<ReplayReport>& reports, LoadColumn load) {
  std::string table = fmt::format(
      "{:<20} {:>8} {:>7} {:>7} {:>7} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>7} {:>8}{}\n",
      "strategy", "requests", "refused", "hit %", "NHR", "TTFT mean", "p50", "p90", "p99",
      "imbalance", "precision", "recall", "returned",
      load == LoadColumn::kShown ? "  sustainable load" : "");
  for (const ReplayReport& report : reports) {
    const Outcome& outcome = report.outcome;
    fmt::format_to(
        std::back_inserter(table),
        "{:<20} {:>8} {:>7} {:>7.1f} {:>7} {:>9.3f} {:>9.3f} {:>9.3f} {:>9.3f} {:>9.3f} {:>9} "
        "{:>7} {:>8}{}\n",
        report.strategy, outcome.requests, outcome.refused, outcome.token_hit_rate() * 100.0,
        cell(report.normalised_hit_rate), outcome.mean_ttft_s(), percentile(outcome.ttft_s, 0.5),
        percentile(outcome.ttft_s, 0.9), percentile(outcome.ttft_s, 0.99), outcome.imbalance(),
        cell(outcome.forecast.precision()), cell(outcome.forecast.recall()),
        cell(outcome.returned_share()),
        load == LoadColumn::kShown ? fmt::format("{:>18}", cell(report.sustainable_load)) : "");
  }
  return table;
}

std::string replay_json(const std::vector<ReplayReport>& reports, LoadColumn load) {
  openai::JsonWriter json;
  json.array();
  for (const ReplayReport& report : reports) {
    const Outcome& outcome = report.outcome;
    json.object().text("strategy", report.strategy).number("requests", outcome.requests);
    // Nothing breaks in virtual time; the member is there for scripts that read the demo's too.
    json.number("errors", 0).number("refused", outcome.refused);
    json.decimal("token_hit_rate", outcome.token_hit_rate());
    write(json, "normalised_hit_rate", report.normalised_hit_rate);
    json.decimal("ttft_mean_s", outcome.mean_ttft_s());
    json.decimal("ttft_p50_s", percentile(outcome.ttft_s, 0.5));
    json.decimal("ttft_p90_s", percentile(outcome.ttft_s, 0.9));
    json.decimal("ttft_p99_s", percentile(outcome.ttft_s, 0.99));
    json.decimal("tokens_per_s", tokens_per_s(outcome)).decimal("imbalance", outcome.imbalance());
    write(json, "index_precision", outcome.forecast.precision());
    write(json, "index_recall", outcome.forecast.recall());
    write(json, "returned_share", outcome.returned_share());
    if (load == LoadColumn::kShown) {
      write(json, "sustainable_load", report.sustainable_load);
    }
    json.array("per_target");
    for (std::size_t i = 0; i < outcome.replicas.size(); ++i) {
      const auto& replica = outcome.replicas[i];
      json.object().text("target", fmt::format("r{}", i)).number("requests", replica.requests);
      json.number("computed_prefill_tokens", replica.computed_prefill_tokens);
      write(json, "index_precision", replica.forecast.precision());
      write(json, "index_recall", replica.forecast.recall());
      if (replica.believed_blocks) {
        json.number("believed_blocks", *replica.believed_blocks);
      }
      json.end();
    }
    json.end().end();
  }
  return json.end().take();
}

}  // namespace rolter::cli
