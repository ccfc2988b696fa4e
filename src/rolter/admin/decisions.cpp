#include "rolter/admin/decisions.h"

#include <algorithm>
#include <chrono>

#include "rolter/openai/json_writer.h"

namespace rolter::admin {
namespace {

using openai::JsonWriter;
using proxy::RoutedRequest;

double milliseconds(Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

void number_or_null(JsonWriter& json, std::string_view key,
                    const std::optional<std::uint64_t>& value) {
  if (value) {
    json.number(key, *value);
  } else {
    json.null(key);
  }
}

void write(const RoutedRequest& decision, JsonWriter& json) {
  json.object()
      .decimal("time", std::chrono::duration<double>(decision.ended.time_since_epoch()).count())
      .text("request_id", decision.request_id)
      .text("trace_id", decision.trace_id)
      .text("route", decision.route)
      .text("target", decision.target)
      .text("reason", decision.reason)
      .text("source", decision.source)
      .decimal("matched", decision.matched)
      .number("status", static_cast<std::uint64_t>(decision.status))
      .number("retries", decision.retries);
  number_or_null(json, "predicted_cached_tokens", decision.predicted_cached_tokens);
  number_or_null(json, "cached_tokens", decision.cached_tokens);
  if (decision.ttft) {
    json.decimal("ttft_ms", milliseconds(*decision.ttft));
  } else {
    json.null("ttft_ms");
  }
  json.decimal("duration_ms", milliseconds(decision.duration)).text("error", decision.error);
  json.array("scores");
  for (const RoutedRequest::Score& score : decision.scores) {
    json.object()
        .text("provider", score.provider)
        .decimal("matched", score.matched)
        .decimal("total", score.total)
        .end();
  }
  json.end().end();
}

}  // namespace

std::vector<RoutedRequest> read_decisions(const proxy::SharedState& shared, DecisionCursor& cursor,
                                          std::size_t most) {
  cursor.resize(shared.decisions.size());
  std::vector<RoutedRequest> decisions;
  for (std::size_t i = 0; i < cursor.size(); ++i) {
    const std::size_t before = decisions.size();
    shared.decisions[i].read(cursor[i], decisions);
    if (decisions.size() > before) {
      cursor[i] = decisions.back().number;
    }
  }
  std::ranges::sort(decisions, {}, &RoutedRequest::ended);
  if (decisions.size() > most) {
    decisions.erase(decisions.begin(), decisions.end() - static_cast<std::ptrdiff_t>(most));
  }
  return decisions;
}

std::vector<RoutedRequest> find_decisions(const proxy::SharedState& shared,
                                          std::string_view request_id) {
  DecisionCursor start;
  auto decisions = read_decisions(shared, start, static_cast<std::size_t>(-1) / 2);
  if (!request_id.empty()) {
    std::erase_if(decisions,
                  [&](const RoutedRequest& decision) { return decision.request_id != request_id; });
  }
  return decisions;
}

std::string decisions_json(const std::vector<RoutedRequest>& decisions) {
  JsonWriter json;
  json.array();
  for (const RoutedRequest& decision : decisions) {
    write(decision, json);
  }
  json.end();
  return json.take();
}

std::vector<proxy::LastError> last_errors(const proxy::SharedState& shared) {
  std::vector<proxy::LastError> all;
  for (const proxy::DecisionRing& ring : shared.decisions) {
    ring.read_errors(all);
  }
  std::vector<proxy::LastError> newest;
  for (proxy::LastError& error : all) {
    const auto known = std::ranges::find(newest, error.provider, &proxy::LastError::provider);
    if (known == newest.end()) {
      newest.push_back(std::move(error));
    } else if (known->at < error.at) {
      *known = std::move(error);
    }
  }
  return newest;
}

}  // namespace rolter::admin
