#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rolter::admin {

/// One target of the route in the light of one request.
struct TargetView {
  std::string provider;
  std::string model;
  bool eligible = false;
  std::string_view why_not;        // a word; "" when eligible
  std::optional<double> matched;   // fraction 0..1; absent when the strategy does not look
  std::uint32_t load = 0;          // our requests in flight at the provider
  std::optional<double> queued;    // as scraped
  std::optional<bool> overloaded;  // absent when the strategy has no such rule
  std::optional<double> total;     // what the strategy maximised
  std::vector<std::pair<std::string_view, double>> parts;
};

/// When a strategy with that rule passes over a warm target.
struct OverloadView {
  std::uint32_t beyond = 0;
  double times = 0.0;
  std::uint32_t least_load = 0;  // of the eligible targets
};

/// Reasons of a request for which none of the route's targets is picked now.
inline constexpr std::string_view kQueued = "queued";
inline constexpr std::string_view kQueueFull = "queue_full";
inline constexpr std::string_view kFallbackRoute = "fallback_route";

/// The queue of a route whose targets are all at their caps.
struct QueueView {
  std::size_t waiting = 0;   // requests that are there already
  std::size_t capacity = 0;  // most of them; 0 = none wait
  double timeout_secs = 0;   // 0 = no bound

  [[nodiscard]] bool full() const { return waiting >= capacity; }
};

/// Why a request would go where.
struct Explanation {
  std::string model;  // as asked for
  std::string route;
  std::string_view strategy;
  std::string_view availability;
  std::optional<std::string> pick;       // provider; absent when none of this route takes it now
  std::optional<std::string> runner_up;  // the pick if the first one were not there
  std::string_view reason;
  std::string_view source = "none";  // by which the pick's cache is known
  std::size_t prompt_bytes = 0;
  std::size_t prompt_tokens = 0;    // of the token ids that came with it
  std::optional<double> threshold;  // absent when the strategy has none
  std::size_t min_match_bytes = 0;
  std::optional<OverloadView> overload;
  std::vector<TargetView> targets;
  std::optional<QueueView> queue;               // where the request would wait, or be refused
  std::unique_ptr<const Explanation> fallback;  // by the route that would take it over
};

/// The answer of POST /admin/explain.
[[nodiscard]] std::string to_json(const Explanation& explanation);

/// For people: a sentence and a table.
[[nodiscard]] std::string to_text(const Explanation& explanation);

}  // namespace rolter::admin
