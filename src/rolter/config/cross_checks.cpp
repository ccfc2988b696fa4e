#include "rolter/config/cross_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "rolter/config/egress.h"
#include "rolter/config/names.h"
#include "rolter/config/suggest.h"
#include "rolter/config/url.h"

namespace rolter::config {
namespace {

/// Reports under key paths; knows where they stand.
class Checker {
 public:
  Checker(const Config& config, const Value& document, Findings& findings)
      : config_(config), document_(document), findings_(findings) {}

  void check_presence();
  void check_names();
  void check_fallbacks();
  void check_event_ports();
  void check_listeners();
  void check_auth();
  void check_sources();

 private:
  void report_circle(const std::vector<std::size_t>& next, std::size_t start);
  void error(std::string path, std::string message) {
    const Position at = locate(document_, path);
    findings_.error(at, std::move(path), std::move(message));
  }
  void warning(std::string path, std::string message) {
    const Position at = locate(document_, path);
    findings_.warning(at, std::move(path), std::move(message));
  }
  [[nodiscard]] std::size_t line_of(const std::string& path) const {
    return locate(document_, path).line;
  }
  /// Reports `path` when `name` was given before, and remembers it.
  void claim(std::map<std::string, std::string, std::less<>>& taken, const std::string& name,
             const std::string& path, std::string_view what);

  const Config& config_;
  const Value& document_;
  Findings& findings_;
};

void Checker::claim(std::map<std::string, std::string, std::less<>>& taken, const std::string& name,
                    const std::string& path, std::string_view what) {
  if (name.empty()) {
    return;
  }
  const auto [before, is_new] = taken.emplace(name, path);
  if (!is_new) {
    error(path, fmt::format("{} \"{}\" is already used by {} (line {})", what, name, before->second,
                            line_of(before->second)));
  }
}

void Checker::check_presence() {
  if (config_.providers.empty()) {
    error("providers", "there are no providers; add [[providers]] with name and api_base");
  }
  if (config_.routes.empty()) {
    error("routes", "there are no routes; add [[routes]] with model and [[routes.targets]]");
  }
}

void Checker::check_names() {
  std::map<std::string, std::string, std::less<>> providers;
  for (std::size_t i = 0; i < config_.providers.size(); ++i) {
    claim(providers, config_.providers[i].name, fmt::format("providers[{}].name", i),
          "the provider name");
  }
  std::map<std::string, std::string, std::less<>> models;
  for (std::size_t i = 0; i < config_.routes.size(); ++i) {
    const Route& route = config_.routes[i];
    claim(models, route.model, fmt::format("routes[{}].model", i), "the model");
    for (std::size_t j = 0; j < route.aliases.size(); ++j) {
      claim(models, route.aliases[j], fmt::format("routes[{}].aliases[{}]", i, j), "the model");
    }
  }
  std::map<std::string, std::string, std::less<>> key_names;
  std::map<std::string_view, std::size_t> secrets;
  for (std::size_t i = 0; i < config_.virtual_keys.size(); ++i) {
    const VirtualKey& key = config_.virtual_keys[i];
    claim(key_names, key.name, fmt::format("virtual_keys[{}].name", i), "the key name");
    const auto [before, is_new] = secrets.emplace(key.key.reveal(), i);
    if (!key.key.empty() && !is_new) {
      error(fmt::format("virtual_keys[{}]", i),
            fmt::format("holds the same secret as virtual_keys[{}]", before->second));
    }
  }
}

void Checker::check_fallbacks() {
  std::map<std::string_view, std::size_t> by_model;
  std::vector<std::string_view> models;
  for (std::size_t i = 0; i < config_.routes.size(); ++i) {
    by_model.emplace(config_.routes[i].model, i);
    models.push_back(config_.routes[i].model);
  }
  constexpr std::size_t kNone = std::string::npos;
  std::vector<std::size_t> next(config_.routes.size(), kNone);
  for (std::size_t i = 0; i < config_.routes.size(); ++i) {
    const std::string& fallback = config_.routes[i].fallback;
    const std::string path = fmt::format("routes[{}].fallback", i);
    if (fallback.empty()) {
      continue;
    }
    const auto found = by_model.find(fallback);
    if (found == by_model.end()) {
      error(path, fmt::format("no route's model is \"{}\"{}", fallback,
                              suggestion(fallback, models, "; there are:")));
      continue;
    }
    next[i] = found->second;
  }
  // Each route is walked once; a walk that comes back to itself has found a circle.
  std::vector<std::size_t> walk_of(next.size(), kNone);
  for (std::size_t start = 0; start < next.size(); ++start) {
    std::size_t at = start;
    while (at != kNone && walk_of[at] == kNone) {
      walk_of[at] = start;
      at = next[at];
    }
    if (at != kNone && walk_of[at] == start) {
      report_circle(next, at);
    }
  }
}

void Checker::report_circle(const std::vector<std::size_t>& next, std::size_t start) {
  std::string circle = config_.routes[start].model;
  std::size_t at = start;
  do {
    at = next[at];
    circle += " -> " + config_.routes[at].model;
  } while (at != start);
  error(fmt::format("routes[{}].fallback", start),
        fmt::format("the fallbacks form a circle: {}", circle));
}

/// Ports first..last on one host that an engine publishes on or answers replays at.
struct PortSpan {
  std::size_t provider;
  std::string key;
  TcpEndpoint first;
  std::uint64_t last;
};

void Checker::check_event_ports() {
  std::vector<PortSpan> spans;
  for (std::size_t i = 0; i < config_.providers.size(); ++i) {
    const auto& events = config_.providers[i].kv_events;
    if (!events) {
      continue;
    }
    const auto add = [&](std::string_view key, const std::string& endpoint) {
      if (const auto parsed = parse_tcp_endpoint(endpoint)) {
        spans.push_back({i, fmt::format("providers[{}].kv_events.{}", i, key), *parsed,
                         parsed->port + std::uint64_t{events->dp_size} - 1});
      }
    };
    add("endpoint", events->endpoint);
    add("replay_endpoint", events->replay_endpoint);
  }
  std::ranges::sort(spans, {}, [](const PortSpan& span) {
    return std::tuple(span.first.host, span.first.port, span.provider, span.key);
  });
  std::size_t reaching = 0;  // the span before i that ends last
  for (std::size_t i = 1; i < spans.size(); ++i) {
    if (spans[reaching].first.host != spans[i].first.host ||
        spans[i - 1].last > spans[reaching].last) {
      reaching = i - 1;
    }
    const PortSpan& left = spans[reaching];
    const PortSpan& right = spans[i];
    if (left.first.host == right.first.host && right.first.port <= left.last) {
      error(right.key, fmt::format("port {} is among the ports {} to {} of {}; {}",
                                   right.first.port, left.first.port, left.last, left.key,
                                   left.provider == right.provider
                                       ? "each needs dp_size consecutive ports of its own"
                                       : "the same events would count for two replicas"));
    }
  }
}

void Checker::check_listeners() {
  const auto is_any = [](std::string_view host) { return host == "0.0.0.0" || host == "::"; };
  const Server& server = config_.server;
  const Admin& admin = config_.admin;
  if (server.port != 0 && server.port == admin.port &&
      (server.host == admin.host || is_any(server.host) || is_any(admin.host))) {
    error("admin.port", fmt::format("port {} is the API's as well; choose another", admin.port));
  }
  const auto address = parse_ip_literal(admin.host);
  const bool is_any_address = address && is_any(to_string(*address));
  const bool is_local = admin.host == "localhost" ||
                        (address && classify(*address) == Verdict::kLoopback && !is_any_address);
  if (!is_local && admin.token.empty()) {
    error("admin.host", "an admin listener that other hosts can reach needs token_env");
  }
}

void Checker::check_auth() {
  const bool has_keys = !config_.virtual_keys.empty();
  if (config_.auth == AuthMode::kOpen && config_.auth_mode_given && has_keys) {
    warning("auth.mode", "\"open\" lets every request in; the virtual keys have no effect");
  }
  if (config_.auth == AuthMode::kKeys && !has_keys) {
    warning("auth.mode", "there are no virtual keys, so every request will be refused");
  }
}

void Checker::check_sources() {
  std::set<std::size_t> used;
  for (std::size_t i = 0; i < config_.routes.size(); ++i) {
    const Route& route = config_.routes[i];
    if (std::ranges::find(route.shadow, StrategyKind::kPreciseCacheAware) != route.shadow.end()) {
      warning(fmt::format("routes[{}].shadow", i),
              "engines hold what the real strategy sends them, so their events say nothing of a "
              "shadow's choices: \"precise_cache_aware\" goes by load alone there");
    }
    for (std::size_t j = 0; j < route.targets.size(); ++j) {
      const Provider& provider = config_.providers[route.targets[j].provider];
      used.insert(route.targets[j].provider);
      const bool lacks_events =
          route.strategy == StrategyKind::kPreciseCacheAware && !provider.kv_events;
      const bool lacks_lmcache = route.strategy == StrategyKind::kLmcacheAware && !provider.lmcache;
      if (lacks_events || lacks_lmcache) {
        warning(fmt::format("routes[{}].targets[{}]", i, j),
                fmt::format("provider \"{}\" has no [providers.{}], so {} knows nothing of its "
                            "cache",
                            provider.name, lacks_events ? "kv_events" : "lmcache",
                            to_string(route.strategy)));
      }
    }
  }
  for (std::size_t i = 0; i < config_.providers.size(); ++i) {
    if (!used.contains(i) && !config_.providers[i].name.empty()) {
      warning(fmt::format("providers[{}].name", i), "no route's target names this provider");
    }
  }
}

}  // namespace

void check_whole(const Config& config, const Value& document, Findings& findings) {
  Checker checker(config, document, findings);
  checker.check_presence();
  checker.check_names();
  checker.check_fallbacks();
  checker.check_event_ports();
  checker.check_listeners();
  checker.check_auth();
  if (!findings.has_errors()) {  // a faulty target would make its provider look unused
    checker.check_sources();
  }
}

}  // namespace rolter::config
