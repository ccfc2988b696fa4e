#include <fmt/format.h>

#include <string>

#include "rolter/config/load.h"
#include "rolter/config/names.h"
#include "rolter/config/url.h"

namespace rolter::config {
namespace {

std::string_view plural(std::size_t count) {
  return count == 1 ? "" : "s";
}

void append_routes(const Config& config, std::string& out) {
  for (const Route& route : config.routes) {
    out += fmt::format("route {}", route.model);
    for (const std::string& alias : route.aliases) {
      out += fmt::format(", {}", alias);
    }
    out += fmt::format(": {} over {} target{}", to_string(route.strategy), route.targets.size(),
                       plural(route.targets.size()));
    out += route.fallback.empty() ? "\n" : fmt::format(", fallback {}\n", route.fallback);
    for (const RouteTarget& target : route.targets) {
      out += fmt::format("  {}/{}\n", config.providers[target.provider].name, target.model);
    }
  }
}

}  // namespace

std::string summarize(const Config& config) {
  const Server& server = config.server;
  std::string out =
      fmt::format("api on {}://{}, metrics at {}\nadmin on http://{}\n",
                  server.tls ? "https" : "http", authority(server.host, server.port),
                  server.metrics_path, authority(config.admin.host, config.admin.port));
  out += config.auth == AuthMode::kOpen
             ? "open to every caller\n"
             : fmt::format("for callers with one of {} virtual key{}\n", config.virtual_keys.size(),
                           plural(config.virtual_keys.size()));
  for (const Provider& provider : config.providers) {
    out +=
        fmt::format("provider {}: {}{}{}{}\n", provider.name, to_string(provider.api_base),
                    provider.api_key.empty() ? "" : ", with a key",
                    provider.kv_events ? ", KV events" : "", provider.lmcache ? ", LMCache" : "");
  }
  append_routes(config, out);
  return out;
}

}  // namespace rolter::config
