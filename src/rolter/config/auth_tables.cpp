// [auth] and [[virtual_keys]]: who may call.
#include <array>

#include "rolter/config/readers.h"

namespace rolter::config {
namespace {

constexpr auto kModes =
    std::to_array<Named<AuthMode>>({{"open", AuthMode::kOpen}, {"keys", AuthMode::kKeys}});

}  // namespace

void read_auth(TableReader& table, Config& config) {
  config.auth_mode_given = table.has("mode");
  table.choice("mode", config.auth, kModes, "mode");
}

void read_virtual_key(TableReader& table, VirtualKey& key) {
  table.secret("key", "key_env", key.key, Presence::kRequired);
  if (const auto name = table.parsed_text("name", "string", Presence::kOptional)) {
    key.name = name->value;
  }
  table.texts("models", key.models);
  table.flag("disabled", key.disabled);
  table.date_time("expires_at", key.expires_at);
  table.integer("requests_per_minute", key.requests_per_minute);
  table.integer("tokens_per_minute", key.tokens_per_minute);
  table.integer("max_in_flight", key.max_in_flight);
}

}  // namespace rolter::config
