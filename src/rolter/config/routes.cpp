// [[routes]] with [routes.weights] and [[routes.targets]]: which model goes where.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "rolter/config/readers.h"
#include "rolter/config/suggest.h"

namespace rolter::config {
namespace {

constexpr auto kTokenize = std::to_array<Named<bool>>({{"learn", true}, {"off", false}});
constexpr auto kFallbackScores = std::to_array<Named<bool>>({{"none", false}, {"prefix", true}});
constexpr double kGreatestWeight = 1'000'000;
constexpr NumberRange kScorerWeight{.min = 0, .max = kGreatestWeight};

constexpr auto kStrategyWords = [] {
  std::array<std::string_view, kStrategies.size()> words;
  std::ranges::transform(kStrategies, words.begin(), &Named<StrategyKind>::name);
  return words;
}();

void read_weights(TableReader& table, RouteWeights& weights) {
  table.number("weight", weights.weight, kScorerWeight);
  table.number("load", weights.load, kScorerWeight);
  table.number("prefix", weights.prefix, kScorerWeight);
  table.number("precise", weights.precise, kScorerWeight);
  table.number("lmcache", weights.lmcache, kScorerWeight);
}

void read_shadow(TableReader& table, Route& route) {
  for (const Text& word : table.parsed_texts("shadow", "list of strategies")) {
    if (const auto strategy = strategy_named(word.value)) {
      if (std::ranges::find(route.shadow, *strategy) != route.shadow.end()) {
        table.context().findings.error(word.at, table.path_of("shadow"),
                                       fmt::format("\"{}\" is named twice", word.shown));
      }
      route.shadow.push_back(*strategy);
    } else {
      table.context().findings.error(
          word.at, table.path_of("shadow"),
          fmt::format("unknown strategy \"{}\"{}", word.shown,
                      suggestion(word.value, kStrategyWords, "; known:")));
    }
  }
}

/// The position of the provider that the target names; reported when there is none.
std::optional<std::size_t> find_provider(TableReader& table,
                                         const std::vector<Provider>& providers) {
  const auto name = table.parsed_text("provider", "string", Presence::kRequired);
  if (!name) {
    return std::nullopt;
  }
  const auto found = std::ranges::find(providers, name->value, &Provider::name);
  if (found != providers.end()) {
    return static_cast<std::size_t>(found - providers.begin());
  }
  std::vector<std::string_view> names(providers.size());
  std::ranges::transform(providers, names.begin(), &Provider::name);
  table.error("provider",
              fmt::format("no provider is named \"{}\"{}", name->shown,
                          names.empty() ? "" : suggestion(name->value, names, "; there are:")));
  return std::nullopt;
}

void read_target(TableReader& table, const std::vector<Provider>& providers, Route& route) {
  RouteTarget target;
  const auto provider = find_provider(table, providers);
  table.text("model", target.model, Presence::kRequired);
  table.number("weight", target.weight, {.min = 0, .max = kGreatestWeight, .above_min = true});
  table.integer("max_in_flight", target.max_in_flight);
  if (!provider || target.model.empty()) {
    return;
  }
  target.provider = *provider;
  const auto is_same = [&target](const RouteTarget& other) {
    return other.provider == target.provider && other.model == target.model;
  };
  if (std::ranges::any_of(route.targets, is_same)) {
    table.error("",
                "the same provider and model are a target of this route already; use weight "
                "to give one target more");
  }
  route.targets.push_back(std::move(target));
}

void read_prefix_tree(TableReader& table, Route& route) {
  table.number("threshold", route.threshold, {.min = 0, .max = 1});
  table.integer("min_match_bytes", route.min_match_bytes);
  table.integer("overload_abs", route.overload_abs);
  table.number("overload_rel", route.overload_rel);
  table.integer("max_nodes", route.max_nodes, {.min = 1});
  table.integer("max_index_bytes", route.max_index_bytes, {.min = 1});
  table.flag("record_replies", route.record_replies);
}

}  // namespace

void read_route(TableReader& table, const std::vector<Provider>& providers, Route& route) {
  table.text("model", route.model, Presence::kRequired);
  table.texts("aliases", route.aliases);
  table.choice("strategy", route.strategy, kStrategies, "strategy");
  table.text("fallback", route.fallback);
  read_prefix_tree(table, route);
  table.secs("session_ttl_secs", route.session_ttl);
  table.integer("max_sessions", route.max_sessions, {.min = 1});
  table.secs("slow_start_secs", route.slow_start);
  table.table("weights", [&route](TableReader& weights) { read_weights(weights, route.weights); });
  table.flag("optimistic", route.optimistic);
  table.flag("tag_requests", route.tag_requests);
  table.choice("tokenize", route.tokenize_learn, kTokenize, "setting");
  table.number("miss_weight", route.miss_weight);
  table.flag("ask_usage", route.ask_usage);
  table.choice("fallback_score", route.fallback_score_prefix, kFallbackScores, "score");
  read_shadow(table, route);
  table.integer("queue_capacity", route.queue.capacity, {.max = 1'000'000});
  table.secs("queue_timeout_secs", route.queue.timeout);
  const bool has_targets =
      table.tables("targets", [&](TableReader& target) { read_target(target, providers, route); });
  if (!has_targets) {
    table.error("targets",
                "the route has no targets; add [[routes.targets]] with provider and model");
  }
}

}  // namespace rolter::config
