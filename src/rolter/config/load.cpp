#include "rolter/config/load.h"

#include <fmt/format.h>

#include <utility>

#include "rolter/config/cross_checks.h"
#include "rolter/config/effective.h"
#include "rolter/config/readers.h"

namespace rolter::config {
namespace {

/// Reads the tables in the order in which they need each other: [egress] before the providers it
/// judges, [queue] and the providers before the routes that refer to them.
Config read_root(TableReader& root) {
  Config config;
  root.table("server", [&](TableReader& table) { read_server(table, config.server); });
  root.table("log", [&](TableReader& table) { read_log(table, config.log); });
  root.table("auth", [&](TableReader& table) { read_auth(table, config); });
  root.tables("virtual_keys", [&](TableReader& table) {
    VirtualKey key;
    key.name = fmt::format("key-{}", config.virtual_keys.size() + 1);
    read_virtual_key(table, key);
    config.virtual_keys.push_back(std::move(key));
  });
  if (!config.auth_mode_given && !config.virtual_keys.empty()) {
    config.auth = AuthMode::kKeys;
  }
  root.table("egress", [&](TableReader& table) { read_egress(table, config.egress); });
  const EgressPolicy egress(config.egress);
  root.tables("providers", [&](TableReader& table) {
    read_provider(table, egress, config.providers.emplace_back());
  });
  root.table("queue", [&](TableReader& table) { read_queue(table, config.queue); });
  root.tables("routes", [&](TableReader& table) {
    Route route;
    route.queue = config.queue;
    read_route(table, config.providers, route);
    config.routes.push_back(std::move(route));
  });
  root.table("index", [&](TableReader& table) { read_index(table, config.index); });
  root.table("retry", [&](TableReader& table) { read_retry(table, config.retry); });
  root.table("cooldown", [&](TableReader& table) { read_cooldown(table, config.cooldown); });
  root.table("timeouts", [&](TableReader& table) { read_timeouts(table, config.timeouts); });
  root.table("health", [&](TableReader& table) { read_health(table, config.health); });
  root.table("breaker", [&](TableReader& table) { read_breaker(table, config.breaker); });
  root.table("metrics_scrape",
             [&](TableReader& table) { read_metrics_scrape(table, config.metrics_scrape); });
  root.table("admin", [&](TableReader& table) { read_admin(table, config.admin); });
  return config;
}

std::vector<KeyInfo> list_keys() {
  const Environment nothing_set;
  Findings ignored;
  std::vector<KeyInfo> keys;
  LoadContext context{nothing_set, ignored, &keys};
  const Table empty;
  TableReader root(context, empty, {}, "");
  const Config defaults = read_root(root);
  return keys;
}

}  // namespace

const std::vector<KeyInfo>& accepted_keys() {
  static const std::vector<KeyInfo> keys = list_keys();
  return keys;
}

std::string table_header(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  std::string name(path.substr(0, dot == std::string_view::npos ? 0 : dot));
  const bool is_list = name.ends_with("[]");
  for (std::size_t open = name.find('['); open != std::string::npos; open = name.find('[')) {
    name.erase(open, name.find(']', open) - open + 1);
  }
  if (name.empty()) {
    return "";
  }
  return is_list ? fmt::format("[[{}]]", name) : fmt::format("[{}]", name);
}

LoadResult load_config(std::string_view text, std::string_view /*file*/,
                       const Environment& environment) {
  Findings findings;
  const auto document = parse_document(text);
  if (!document) {
    findings.add(document.error());
    return {std::nullopt, findings.take_sorted()};
  }
  Config config;
  {
    LoadContext context{environment, findings};
    TableReader root(context, std::get<Table>(document->data), {}, "");
    config = read_root(root);
  }
  check_whole(config, *document, findings);
  if (findings.has_errors()) {
    return {std::nullopt, findings.take_sorted()};
  }
  warn_without_effect(*document, not_yet_effective(), findings);
  return {std::move(config), findings.take_sorted()};
}

}  // namespace rolter::config
