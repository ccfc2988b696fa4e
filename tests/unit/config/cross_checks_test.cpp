#include "rolter/config/cross_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/config/loading.h"

namespace rolter::config {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

std::string provider(std::string_view name, std::string_view more = "") {
  return "[[providers]]\nname = \"" + std::string(name) + "\"\napi_base = \"http://" +
         std::string(name) + "\"\n" + std::string(more);
}

std::string route(std::string_view model, std::string_view more = "") {
  return "[[routes]]\nmodel = \"" + std::string(model) +
         "\"\ntargets = [{ provider = \"vllm-1\", model = \"m\" }]\n" + std::string(more);
}

TEST(CrossChecks, a_file_without_providers_and_routes_is_no_configuration) {
  EXPECT_THAT(errors(""), ElementsAre("rolter.toml:1:1: error: providers: there are no providers; "
                                      "add [[providers]] with name and api_base",
                                      "rolter.toml:1:1: error: routes: there are no routes; add "
                                      "[[routes]] with model and [[routes.targets]]"));
}

TEST(CrossChecks, a_provider_name_is_used_once) {
  EXPECT_THAT(errors(kSmall + provider("vllm-1")),
              ElementsAre("rolter.toml:10:8: error: providers[1].name: the provider name "
                          "\"vllm-1\" is already used by providers[0].name (line 2)"));
}

TEST(CrossChecks, a_model_leads_to_one_route) {
  EXPECT_THAT(errors(kSmall + route("llama")),
              ElementsAre("rolter.toml:10:9: error: routes[1].model: the model \"llama\" is "
                          "already used by routes[0].model (line 5)"));
}

TEST(CrossChecks, an_alias_counts_as_a_model) {
  EXPECT_THAT(errors(kSmall + route("b", "aliases = [\"*\", \"llama\", \"*\"]\n")),
              ElementsAre("rolter.toml:12:17: error: routes[1].aliases[1]: the model \"llama\" is "
                          "already used by routes[0].model (line 5)",
                          "rolter.toml:12:26: error: routes[1].aliases[2]: the model \"*\" is "
                          "already used by routes[1].aliases[0] (line 12)"));
}

TEST(CrossChecks, key_names_and_secrets_are_used_once) {
  EXPECT_THAT(
      errors(kSmall + "[[virtual_keys]]\nkey = \"sk-a\"\nname = \"team\"\n"
                      "[[virtual_keys]]\nkey = \"sk-a\"\nname = \"team\"\n"),
      ElementsAre("rolter.toml:12:1: error: virtual_keys[1]: holds the same secret as "
                  "virtual_keys[0]",
                  "rolter.toml:14:8: error: virtual_keys[1].name: the key name \"team\" is already "
                  "used by virtual_keys[0].name (line 11)"));
}

TEST(CrossChecks, a_fallback_names_a_route) {
  EXPECT_THAT(errors(kSmall + route("b", "fallback = \"lama\"\n")),
              ElementsAre("rolter.toml:12:12: error: routes[1].fallback: no route's model is "
                          "\"lama\"; did you mean \"llama\"?"));
}

TEST(CrossChecks, fallbacks_end_somewhere) {
  EXPECT_THAT(
      errors(kSmall + route("b", "fallback = \"llama\"\n") + route("c", "fallback = \"b\"\n")),
      IsEmpty());
  EXPECT_THAT(errors(kSmall + route("b", "fallback = \"c\"\n") + route("c", "fallback = \"b\"\n") +
                     route("d", "fallback = \"c\"\n")),
              ElementsAre("rolter.toml:12:12: error: routes[1].fallback: the fallbacks form a "
                          "circle: b -> c -> b"));
  EXPECT_THAT(errors(kSmall + route("b", "fallback = \"b\"\n")),
              ElementsAre("rolter.toml:12:12: error: routes[1].fallback: the fallbacks form a "
                          "circle: b -> b"));
}

TEST(CrossChecks, ranks_do_not_reach_the_replay_ports) {
  EXPECT_THAT(
      errors(with_line(3,
                       "api_base = \"http://h\"\n[providers.kv_events]\n"
                       "endpoint = \"tcp://h:5557\"\nreplay_endpoint = \"tcp://h:5558\"\n"
                       "dp_size = 2\n")),
      ElementsAre("rolter.toml:6:19: error: providers[0].kv_events.replay_endpoint: port 5558 is "
                  "among the ports 5557 to 5558 of providers[0].kv_events.endpoint; each needs "
                  "dp_size consecutive ports of its own"));
}

TEST(CrossChecks, two_providers_do_not_hear_the_same_events) {
  const std::string wide = "[providers.kv_events]\nendpoint = \"tcp://h:5557\"\ndp_size = 4\n";
  const std::string inside = "[providers.kv_events]\nendpoint = \"tcp://h:5558\"\n";
  const std::string inside_too = "[providers.kv_events]\nendpoint = \"tcp://h:5560\"\n";
  const std::string elsewhere = "[providers.kv_events]\nendpoint = \"tcp://other:5558\"\n";
  EXPECT_THAT(errors(kSmall + provider("a", wide) + provider("b", inside) +
                     provider("c", inside_too) + provider("d", elsewhere)),
              ElementsAre("rolter.toml:19:12: error: providers[2].kv_events.endpoint: port 5558 is "
                          "among the ports 5557 to 5560 of providers[1].kv_events.endpoint; the "
                          "same events would count for two replicas",
                          "rolter.toml:24:12: error: providers[3].kv_events.endpoint: port 5560 is "
                          "among the ports 5557 to 5560 of providers[1].kv_events.endpoint; the "
                          "same events would count for two replicas"));
}

TEST(CrossChecks, the_listeners_do_not_share_a_port) {
  EXPECT_THAT(errors(kSmall + "[admin]\nport = 4000\n"),
              ElementsAre("rolter.toml:10:8: error: admin.port: port 4000 is the API's as well; "
                          "choose another"));
  EXPECT_THAT(errors(kSmall + "[server]\nhost = \"127.0.0.2\"\n[admin]\nport = 4000\n"), IsEmpty());
}

TEST(CrossChecks, an_admin_listener_that_others_reach_needs_a_token) {
  const std::string open =
      "rolter.toml:10:8: error: admin.host: an admin listener that other "
      "hosts can reach needs token_env";
  for (const char* host : {"0.0.0.0", "::", "10.0.0.1", "0", "gateway.example"}) {
    const std::string table = kSmall + "[admin]\nhost = \"" + host + "\"\n";
    EXPECT_THAT(errors(table), ElementsAre(open)) << host;
    EXPECT_THAT(errors(table + "token_env = \"T\"\n", {{"T", "secret"}}), IsEmpty()) << host;
  }
  for (const char* host : {"127.0.0.1", "127.1.2.3", "::1", "localhost"}) {
    EXPECT_THAT(errors(kSmall + "[admin]\nhost = \"" + host + "\"\n"), IsEmpty()) << host;
  }
}

TEST(CrossChecks, a_mode_that_ignores_the_keys_is_pointed_out) {
  EXPECT_THAT(findings(kSmall + "[auth]\nmode = \"keys\"\n"),
              ElementsAre("rolter.toml:10:8: warning: auth.mode: there are no virtual keys, so "
                          "every request will be refused"));
  EXPECT_THAT(
      findings(kSmall + "[auth]\nmode = \"open\"\n[[virtual_keys]]\nkey_env = \"K\"\n",
               {{"K", "sk-a"}}),
      ElementsAre("rolter.toml:10:8: warning: auth.mode: \"open\" lets every request in; the "
                  "virtual keys have no effect"));
}

TEST(CrossChecks, a_strategy_without_its_source_is_pointed_out) {
  EXPECT_THAT(findings(with_line(5, "model = \"llama\"\nstrategy = \"precise_cache_aware\"")),
              Contains("rolter.toml:7:1: warning: routes[0].targets[0]: provider \"vllm-1\" has no "
                       "[providers.kv_events], so precise_cache_aware knows nothing of its cache"));
  EXPECT_THAT(findings(with_line(5, "model = \"llama\"\nstrategy = \"lmcache_aware\"")),
              Contains("rolter.toml:7:1: warning: routes[0].targets[0]: provider \"vllm-1\" has no "
                       "[providers.lmcache], so lmcache_aware knows nothing of its cache"));
}

TEST(CrossChecks, a_provider_that_no_route_uses_is_pointed_out) {
  EXPECT_THAT(findings(kSmall + provider("spare")),
              ElementsAre("rolter.toml:10:8: warning: providers[1].name: no route's target names "
                          "this provider"));
}

}  // namespace
}  // namespace rolter::config
