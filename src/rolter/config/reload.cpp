#include "rolter/config/reload.h"

namespace rolter::config {

std::optional<Finding> refuse_reload(const Config& running, const Config& next) {
  const bool opens = running.auth == AuthMode::kKeys && next.auth == AuthMode::kOpen;
  if (!opens || next.auth_mode_given) {
    return std::nullopt;
  }
  return Finding{Severity::kError, 0, 0, "auth.mode",
                 "without [[virtual_keys]] the gateway would be open to everyone; keep a key, or "
                 "set [auth] mode = \"open\" if that is meant"};
}

std::vector<std::string> needs_restart(const Config& running, const Config& next) {
  std::vector<std::string> keys;
  const auto compare = [&keys](const char* key, const auto& before, const auto& after) {
    if (before != after) {
      keys.emplace_back(key);
    }
  };
  compare("server.host", running.server.host, next.server.host);
  compare("server.port", running.server.port, next.server.port);
  compare("server.loops", running.server.loops, next.server.loops);
  compare("server.max_connections", running.server.max_connections, next.server.max_connections);
  compare("admin.host", running.admin.host, next.admin.host);
  compare("admin.port", running.admin.port, next.admin.port);
  return keys;
}

}  // namespace rolter::config
