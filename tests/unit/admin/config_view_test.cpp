#include "rolter/admin/config_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "rolter/config/catalog.h"

namespace rolter::admin {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

config::Config full_config() {
  config::Config config;
  config.server.tls = config::ServerTls{"c.pem", "k.pem"};
  config.admin.token = config::Secret("admin-secret");
  config::VirtualKey& key = config.virtual_keys.emplace_back();
  key.key = config::Secret("key-secret");
  key.expires_at = WallTime{};
  config::Provider& provider = config.providers.emplace_back();
  provider.name = "a";
  provider.api_base = {.tls = false, .host = "h", .port = 8000, .base_path = ""};
  provider.api_key = config::Secret("api-secret");
  provider.headers = {{"x-team", config::Secret("header-secret")}};
  provider.kv_events.emplace();
  provider.lmcache.emplace().endpoint = {
      .tls = false, .host = "h", .port = 9000, .base_path = "/s?token=query-secret"};
  config::Route& route = config.routes.emplace_back();
  route.targets.emplace_back();
  return config;
}

std::string shown() {
  openai::JsonWriter json;
  json.object();
  write_config(full_config(), json);
  json.end();
  return json.take();
}

TEST(ConfigView, shows_every_key_of_the_configuration) {
  const std::string text = shown();
  // Where a secret comes from is not kept; what it is for is.
  const std::set<std::string> forms_of_a_secret{"key_env", "api_key_env", "token_env"};
  for (const config::KeyInfo& key : config::accepted_keys()) {
    const std::string name = key.path.substr(key.path.rfind('.') + 1);
    if (!forms_of_a_secret.contains(name)) {
      EXPECT_THAT(text, HasSubstr("\"" + name + "\":")) << key.path;
    }
  }
}

TEST(ConfigView, shows_no_secret) {
  const std::string text = shown();
  EXPECT_THAT(text, Not(HasSubstr("-secret")));
  EXPECT_THAT(text, HasSubstr("\"token\":\"***\""));
}

}  // namespace
}  // namespace rolter::admin
