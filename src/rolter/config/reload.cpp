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

}  // namespace rolter::config
