#include "rolter/admin/explanation.h"

#include <fmt/format.h>

#include <array>

#include "rolter/admin/text_table.h"
#include "rolter/openai/json_writer.h"

namespace rolter::admin {
namespace {

using openai::JsonWriter;

void text_or_null(JsonWriter& json, std::string_view key, const std::optional<std::string>& text) {
  if (text) {
    json.text(key, *text);
  } else {
    json.null(key);
  }
}

void decimal_or_null(JsonWriter& json, std::string_view key, const std::optional<double>& value) {
  if (value) {
    json.decimal(key, *value);
  } else {
    json.null(key);
  }
}

void write_target(JsonWriter& json, const TargetView& target) {
  json.object()
      .text("provider", target.provider)
      .text("model", target.model)
      .flag("eligible", target.eligible);
  if (target.eligible) {
    json.null("why_not");
  } else {
    json.text("why_not", target.why_not);
  }
  decimal_or_null(json, "matched", target.matched);
  json.number("load", target.load);
  decimal_or_null(json, "queued", target.queued);
  if (target.overloaded) {
    json.flag("overloaded", *target.overloaded);
  }
  json.object("scores");
  if (target.total) {
    json.decimal("total", *target.total);
  }
  for (const auto& [name, value] : target.parts) {
    json.decimal(name, value);
  }
  json.end().end();
}

/// What each word of Decision::reason means.
std::string_view in_words(std::string_view reason) {
  constexpr auto kWords = std::to_array<std::pair<std::string_view, std::string_view>>({
      {"only_one", "no other target is eligible"},
      {"prefix", "it holds the longest prefix, at or over the threshold"},
      {"overloaded", "the target with the longest prefix is overloaded; this one is least loaded"},
      {"below_threshold", "no target holds enough of the prompt; this one is least loaded"},
      {"no_prompt", "nothing to match on; this one is least loaded"},
      {"round_robin", "its turn"},
      {"random", "drawn at random"},
      {"least_load", "it is least loaded"},
      {"weighted", "drawn by weight"},
      {"score", "the highest sum of weighted scores"},
      {"session", "the session is pinned to it"},
      {"resident", "it holds the most leading blocks"},
      {"no_credit", "no target is known to hold any block; this one is least loaded"},
      {"occupancy", "it has the most free cache"},
      {"hash", "the prompt's hash leads to it"},
      {"predicted", "the first token is predicted to come soonest there"},
      {"fail_open", "no target is eligible, all that are not drained are tried"},
  });
  for (const auto& [word, meaning] : kWords) {
    if (word == reason) {
      return meaning;
    }
  }
  return reason;
}

std::string fraction(const std::optional<double>& value) {
  return value ? fmt::format("{:.3f}", *value) : "-";
}

std::string parts_text(const TargetView& target) {
  std::string out;
  for (const auto& [name, value] : target.parts) {
    out += fmt::format("{}{}={:.3g}", out.empty() ? "" : " ", name, value);
  }
  return out.empty() ? "-" : out;
}

std::string rules_text(const Explanation& explanation) {
  std::string out;
  if (explanation.threshold) {
    out += fmt::format("threshold {:g} of {} prompt bytes", *explanation.threshold,
                       explanation.prompt_bytes);
    if (explanation.min_match_bytes > 0) {
      out += fmt::format(", at least {} bytes", explanation.min_match_bytes);
    }
    out += '\n';
  }
  if (const auto& rule = explanation.overload) {
    out += fmt::format("overloaded: load > {} + {} and load > {:g} x {} (the least load is {})\n",
                       rule->least_load, rule->beyond, rule->times, rule->least_load,
                       rule->least_load);
  }
  return out;
}

/// What becomes of a request that meets only targets at their caps.
std::string queue_text(const QueueView& queue) {
  if (queue.capacity == 0) {
    return "refused with 429: every target is at its max_in_flight, and queue_capacity is 0";
  }
  if (queue.full()) {
    return fmt::format(
        "refused with 429: every target is at its max_in_flight, and the queue is full ({} of {})",
        queue.waiting, queue.capacity);
  }
  return fmt::format(
      "waits: every target is at its max_in_flight; place {} of {} in the queue, virtual keys "
      "taking turns, {}",
      queue.waiting + 1, queue.capacity,
      queue.timeout_secs > 0 ? fmt::format("at most {:g} s, then 429", queue.timeout_secs)
                             : "for as long as it takes");
}

/// Where to, and why.
std::string headline(const Explanation& explanation) {
  std::string out;
  if (explanation.pick) {
    out = fmt::format("{} goes to {}: {} ({})", explanation.model, *explanation.pick,
                      in_words(explanation.reason), explanation.reason);
  } else if (explanation.queue) {
    out = fmt::format("{} {}", explanation.model, queue_text(*explanation.queue));
  } else if (explanation.fallback) {
    out = fmt::format("{} goes to the fallback route {}: none of the route's own targets is there",
                      explanation.model, explanation.fallback->route);
  } else {
    out = fmt::format("{} goes nowhere: {}", explanation.model, explanation.availability);
  }
  out += fmt::format("\nroute {}, strategy {}", explanation.route, explanation.strategy);
  if (explanation.pick) {
    out += fmt::format(", runner-up {}", explanation.runner_up.value_or("none"));
  }
  return out + '\n';
}

}  // namespace

std::string to_json(const Explanation& explanation) {
  JsonWriter json;
  json.object()
      .text("model", explanation.model)
      .text("route", explanation.route)
      .text("strategy", explanation.strategy)
      .text("availability", explanation.availability);
  text_or_null(json, "pick", explanation.pick);
  text_or_null(json, "runner_up", explanation.runner_up);
  json.text("reason", explanation.reason)
      .text("source", explanation.source)
      .number("prompt_bytes", explanation.prompt_bytes)
      .number("prompt_tokens", explanation.prompt_tokens);
  if (explanation.threshold) {
    json.decimal("threshold", *explanation.threshold)
        .number("min_match_bytes", explanation.min_match_bytes);
  }
  if (const auto& rule = explanation.overload) {
    json.object("overload")
        .number("abs", rule->beyond)
        .decimal("rel", rule->times)
        .number("least_load", rule->least_load)
        .end();
  }
  if (const auto& queue = explanation.queue) {
    json.object("queue")
        .number("waiting", queue->waiting)
        .number("capacity", queue->capacity)
        .decimal("timeout_secs", queue->timeout_secs)
        .end();
  }
  json.array("targets");
  for (const TargetView& target : explanation.targets) {
    write_target(json, target);
  }
  json.end();
  if (explanation.fallback) {
    json.raw("fallback", to_json(*explanation.fallback));
  }
  json.end();
  return json.take();
}

std::string to_text(const Explanation& explanation) {
  std::string out = headline(explanation);
  out += rules_text(explanation);
  TextTable table(
      {"PROVIDER", "MODEL", "ELIGIBLE", "MATCHED", "LOAD", "OVERLOADED", "SCORE", "PARTS"});
  for (const TargetView& target : explanation.targets) {
    table.add({target.provider, target.model,
               target.eligible ? "yes" : fmt::format("no: {}", target.why_not),
               fraction(target.matched), fmt::format("{}", target.load),
               !target.overloaded   ? "-"
               : *target.overloaded ? "yes"
                                    : "no",
               fraction(target.total), parts_text(target)});
  }
  out += '\n' + table.text();
  if (explanation.fallback) {
    out += "\nOn the fallback route, " + to_text(*explanation.fallback);
  }
  return out;
}

}  // namespace rolter::admin
