#include "rolter/admin/explainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "rolter/balance/load.h"
#include "rolter/config/names.h"
#include "rolter/kvcache/token_ids_header.h"
#include "rolter/openai/json_document.h"

namespace rolter::admin {
namespace {

using balance::Score;
using cluster::Availability;
using cluster::Candidate;

/// The API that a body without a path is meant for.
openai::Endpoint endpoint_of_body(std::string_view body) {
  openai::JsonDocument document;
  openai::Endpoint endpoint = openai::Endpoint::kChatCompletions;
  if (document.read(body) || !document.is_object(document.root())) {
    return endpoint;  // the request parser says what is wrong with it
  }
  document.for_each_member(document.root(), [&](std::string_view key, auto) {
    if (key == "prompt") {
      endpoint = openai::Endpoint::kCompletions;
    } else if (key == "input") {
      endpoint = openai::Endpoint::kResponses;
    }
  });
  return endpoint;
}

bool has_overload_rule(config::StrategyKind kind) {
  using enum config::StrategyKind;
  return kind == kCacheAware || kind == kPipeline || kind == kPreciseCacheAware ||
         kind == kLmcacheAware;
}

TargetView view_of(const proxy::GatewayState& state, const cluster::RouteTarget& target,
                   TimePoint now) {
  const cluster::WhyNot why = cluster::why_not(target, now);
  const bool eligible = why == cluster::WhyNot::kNone;
  TargetView view;
  view.provider = state.providers[target.provider].name;
  view.model = target.model;
  view.eligible = eligible;
  view.why_not = eligible ? std::string_view() : cluster::to_string(why);
  view.load = target.replica->in_flight();
  view.queued = target.replica->queued(now);
  return view;
}

/// Strategies that look at no prompt leave `matched` at zero; "0" would claim that they looked.
bool looks_at_prompts(config::StrategyKind kind) {
  using enum config::StrategyKind;
  return kind == kCacheAware || kind == kPipeline || kind == kPreciseCacheAware ||
         kind == kPredictedTtft;
}

/// Nobody of the route can be asked: what its fallback is for.
bool is_out(Availability availability) {
  return availability == Availability::kFailOpen || availability == Availability::kAllDrained;
}

void fill(const std::vector<Score>& scores, bool with_matched, std::vector<TargetView>& targets) {
  for (const Score& score : scores) {
    TargetView& view = targets[score.target];
    view.matched = with_matched ? std::optional(score.matched) : std::nullopt;
    if (view.eligible) {
      view.total = score.total;
      view.parts = score.parts;
    }
  }
}

}  // namespace

struct Explainer::Case {
  const proxy::GatewayState& state;
  const proxy::Route& route;
  const openai::RequestView& view;
  std::span<const TokenId> token_ids;
  std::string_view session;
  TimePoint now;

  [[nodiscard]] const std::vector<cluster::RouteTarget>& targets() const {
    return state.cluster->routes[route.index].targets;
  }
  [[nodiscard]] const config::Route& settings() const { return state.config.routes[route.index]; }
  /// The same request on another route.
  [[nodiscard]] Case on(const proxy::Route& other) const {
    return {state, other, view, token_ids, session, now};
  }
  [[nodiscard]] balance::PickInput input(std::span<const Candidate> eligible) const {
    return {.eligible = eligible,
            .prompt = view.prompt,
            .token_ids = token_ids,
            .session = session,
            .now = now,
            .cache_salt = view.cache_salt};
  }
};

std::expected<Explanation, Reply> Explainer::explain(const proxy::GatewayState& state,
                                                     const ExplainInput& in) {
  const auto endpoint =
      in.path.empty() ? endpoint_of_body(in.body) : openai::endpoint_of_path(in.path);
  if (!endpoint) {
    return std::unexpected(refusal(
        400, "unknown_path", fmt::format("\"{}\" is no path that is routed by model", in.path)));
  }
  const auto view = parser_.parse(*endpoint, "application/json", in.body);
  if (!view) {
    return std::unexpected(refusal(400, "invalid_request", view.error().message));
  }
  const proxy::Route* route = state.find_route(view->model);
  if (route == nullptr) {
    return std::unexpected(refusal(404, "model_not_found",
                                   fmt::format("no route serves the model \"{}\"", view->model)));
  }
  // Unreadable ids count as absent, as on the data path.
  const bool with_ids = !in.token_ids.empty() && kvcache::parse_token_ids(in.token_ids, token_ids_);
  const Case of{state,
                *route,
                *view,
                with_ids ? std::span<const TokenId>(token_ids_) : view->prompt_token_ids,
                in.session.empty() ? view->session_id : in.session,
                in.now};
  return explain_route(of);
}

Explanation Explainer::explain_route(const Case& of) {
  Explanation out;
  out.model = of.view.model;
  out.route = of.route.model;
  out.strategy = config::to_string(of.settings().strategy);
  out.prompt_bytes = of.view.prompt.text.size();
  out.prompt_tokens = of.token_ids.size();
  for (const cluster::RouteTarget& target : of.targets()) {
    out.targets.push_back(view_of(of.state, target, of.now));
  }
  if (of.settings().strategy == config::StrategyKind::kCacheAware) {
    out.threshold = of.settings().threshold;
    out.min_match_bytes = of.settings().min_match_bytes;
  }
  pick(of, out);
  look_at_the_others(of, out);
  if (out.reason == kFallbackRoute) {
    const proxy::Route& next = of.state.routes[*of.route.fallback];
    out.fallback = std::make_unique<const Explanation>(explain_route(of.on(next)));
  }
  return out;
}

/// Where the request would have to wait: everybody is at the cap, or others wait already.
std::optional<QueueView> Explainer::queue_before(const Case& of, Availability availability) {
  const std::size_t waiting = of.route.queue ? of.route.queue->waiting() : 0;
  if (is_out(availability) || (waiting == 0 && availability != Availability::kAllAtCap)) {
    return std::nullopt;
  }
  const config::Queue& queue = of.settings().queue;
  return QueueView{.waiting = waiting,
                   .capacity = queue.capacity,
                   .timeout_secs = std::chrono::duration<double>(queue.timeout).count()};
}

void Explainer::pick(const Case& of, Explanation& out) {
  const auto availability =
      cluster::eligible_targets(of.state.cluster->routes[of.route.index], of.now, {}, candidates_);
  out.availability = cluster::to_string(availability);
  out.reason = out.availability;
  if (const auto queue = queue_before(of, availability)) {
    out.queue = queue;
    out.reason = queue->full() ? kQueueFull : kQueued;
    return;
  }
  if (is_out(availability) && of.route.fallback) {
    out.reason = kFallbackRoute;
    return;
  }
  if (candidates_.empty()) {
    return;
  }
  if (has_overload_rule(of.settings().strategy)) {
    const balance::OverloadRule rule{of.settings().overload_abs, of.settings().overload_rel};
    out.overload = OverloadView{rule.beyond, rule.times, balance::least_in_flight(candidates_)};
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      out.targets[candidates_[i].target].overloaded = balance::is_overloaded(rule, candidates_, i);
    }
  }
  std::vector<Score> scores;
  const balance::Decision decision = of.route.strategy->pick(of.input(candidates_), rng_, &scores);
  fill(scores, looks_at_prompts(of.settings().strategy), out.targets);
  out.pick = out.targets[decision.target].provider;
  if (availability == Availability::kEligible) {
    out.reason = balance::to_string(decision.reason);
    out.source = balance::to_string(decision.source);
  }
  std::erase_if(candidates_,
                [&](const Candidate& candidate) { return candidate.target == decision.target; });
  if (!candidates_.empty()) {
    const auto next = of.route.strategy->pick(of.input(candidates_), rng_, nullptr);
    out.runner_up = out.targets[next.target].provider;
  }
}

void Explainer::look_at_the_others(const Case& of, Explanation& out) {
  if (!looks_at_prompts(of.settings().strategy)) {
    return;
  }
  candidates_.clear();
  for (std::size_t i = 0; i < out.targets.size(); ++i) {
    if (!out.targets[i].matched) {
      Candidate& candidate = candidates_.emplace_back();
      candidate.target = i;
      candidate.replica = of.targets()[i].replica->slot();
      candidate.in_flight = out.targets[i].load;
      candidate.weight = of.targets()[i].weight;
    }
  }
  if (!candidates_.empty()) {
    std::vector<Score> scores;
    std::ignore = of.route.strategy->pick(of.input(candidates_), rng_, &scores);
    fill(scores, true, out.targets);
  }
}

}  // namespace rolter::admin
