#include "rolter/config/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/config/loading.h"

namespace rolter::config {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::string_view kTwoReplicas = R"([[providers]]
name = "vllm-1"
kind = "openai_compatible"
api_base = "http://localhost:8001"
[[providers]]
name = "vllm-2"
kind = "openai_compatible"
api_base = "http://localhost:8002"
[[routes]]
model = "llama"
strategy = "cache_aware"
[[routes.targets]]
provider = "vllm-1"
model = "meta-llama/Llama-3.1-8B-Instruct"
[[routes.targets]]
provider = "vllm-2"
model = "meta-llama/Llama-3.1-8B-Instruct"
)";

TEST(Load, two_replicas_behind_one_route_need_nothing_more) {
  const LoadResult result = load(kTwoReplicas);
  EXPECT_THAT(result.findings, IsEmpty());
  ASSERT_TRUE(result.config);
  const Config& config = *result.config;
  ASSERT_EQ(config.providers.size(), 2U);
  EXPECT_EQ(config.providers[0].name, "vllm-1");
  EXPECT_EQ(config.providers[1].api_base, (Url{false, "localhost", 8002, ""}));
  ASSERT_EQ(config.routes.size(), 1U);
  EXPECT_EQ(config.routes[0].model, "llama");
  EXPECT_EQ(config.routes[0].strategy, StrategyKind::kCacheAware);
  ASSERT_EQ(config.routes[0].targets.size(), 2U);
  EXPECT_EQ(config.routes[0].targets[1].provider, 1U);
  EXPECT_EQ(config.routes[0].targets[1].model, "meta-llama/Llama-3.1-8B-Instruct");
}

TEST(Load, keys_that_are_absent_keep_the_defaults_of_the_structs) {
  const LoadResult result = load(kTwoReplicas);
  ASSERT_TRUE(result.config);
  Config expected;
  expected.providers = result.config->providers;
  expected.routes = result.config->routes;
  EXPECT_EQ(*result.config, expected);
}

constexpr std::string_view kTables = R"(
[server]
host = "::1"
port = 4100
metrics_path = "/stats"
max_body_bytes = 1000
max_head_bytes = 2000
max_head_fields = 30
max_token_ids_bytes = 4000
loops = 2
drain_settle_secs = 1.5
drain_secs = 60
max_connections = 50
max_buffered_bytes = 5000
tls = { cert = "/etc/rolter/cert.pem", key = "/etc/rolter/key.pem" }
[log]
level = "debug"
format = "text"
access = false
prompts = true
[auth]
mode = "keys"
[[virtual_keys]]
key_env = "TEAM_A"
name = "team-a"
models = ["llama"]
disabled = true
expires_at = 2027-01-31T00:00:00Z
requests_per_minute = 10
tokens_per_minute = 2000
max_in_flight = 3
[index]
save_path = "/var/lib/rolter/index"
[queue]
capacity = 7
timeout_secs = 0.25
[retry]
max_retries = 5
base_backoff_ms = 10
max_backoff_ms = 20
budget = 0.5
[cooldown]
base_secs = 0
max_secs = 30
[timeouts]
connect_secs = 1
request_secs = 2
idle_secs = 3
heartbeat_secs = 7
client_head_secs = 4
client_body_secs = 5
client_idle_secs = 6
[health]
enabled = false
interval_secs = 20
timeout_secs = 3
path = "/healthz"
fail_after = 5
pass_after = 4
[breaker]
enabled = true
failure_threshold = 8
open_secs = 9
[metrics_scrape]
enabled = true
interval_secs = 1
timeout_secs = 0.5
path = "/m"
[egress]
block_link_local = false
block_loopback = true
block_private = true
allow_hosts = ["localhost", "10.0.0.7"]
[admin]
host = "localhost"
port = 4101
token_env = "ADMIN"
)";

TEST(Load, every_key_of_the_general_tables_arrives_in_its_field) {
  const LoadResult result =
      load(kSmall + std::string(kTables), {{"TEAM_A", "sk-a"}, {"ADMIN", "secret"}});
  ASSERT_TRUE(result.config);
  Config expected;
  expected.providers = result.config->providers;
  expected.routes = result.config->routes;
  expected.server = {"::1",
                     4100,
                     "/stats",
                     1000,
                     2000,
                     30,
                     4000,
                     2,
                     milliseconds{1500},
                     milliseconds{60'000},
                     50,
                     5000,
                     ServerTls{"/etc/rolter/cert.pem", "/etc/rolter/key.pem"}};
  expected.log = {"debug", "text", false, true};
  expected.auth = AuthMode::kKeys;
  expected.auth_mode_given = true;
  // 2027-01-31T00:00:00Z
  const WallTime expiry{std::chrono::seconds{1'801'353'600}};
  expected.virtual_keys = {{Secret("sk-a"), "team-a", {"llama"}, true, expiry, 10, 2000, 3}};
  expected.index = {"/var/lib/rolter/index"};
  expected.queue = {7, milliseconds{250}};
  expected.retry = {5, milliseconds{10}, milliseconds{20}, 0.5};
  expected.cooldown = {milliseconds{0}, milliseconds{30'000}};
  expected.timeouts = {milliseconds{1000}, milliseconds{2000}, milliseconds{3000},
                       milliseconds{7000}, milliseconds{4000}, milliseconds{5000},
                       milliseconds{6000}};
  expected.health = {false, milliseconds{20'000}, milliseconds{3000}, "/healthz", 5, 4};
  expected.breaker = {true, 8, milliseconds{9000}};
  expected.metrics_scrape = {true, milliseconds{1000}, milliseconds{500}, "/m"};
  expected.egress = {false, true, true, {"localhost", "10.0.0.7"}};
  expected.admin = {"localhost", 4101, Secret("secret")};
  EXPECT_EQ(*result.config, expected);
}

TEST(Load, every_key_of_a_provider_arrives_in_its_field) {
  const LoadResult result = load(R"([[providers]]
name = "a"
kind = "sglang"
api_base = "https://engine.example/prefix/v1/"
api_key_env = "ENGINE_KEY"
ca_bundles = ["/etc/ca.pem"]
headers = { X-Org = "acme" }
resolve_secs = 5
[providers.kv_events]
endpoint = "tcp://engine.example:5557"
replay_endpoint = "tcp://engine.example:5657"
topic = "kv-events"
discover = true
max_blocks = 10
stale_secs = 4
block_size = 16
dp_size = 2
[providers.lmcache]
endpoint = "http://engine.example:8080/status?x=1"
refresh_secs = 1
stale_secs = 3
format = "lmcache_status"
[[routes]]
model = "m"
targets = [{ provider = "a", model = "m" }]
)",
                                 {{"ENGINE_KEY", "sk-engine"}});
  ASSERT_TRUE(result.config);
  Provider expected;
  expected.name = "a";
  expected.kind = "sglang";
  expected.api_base = {true, "engine.example", 443, "/prefix"};
  expected.api_key = Secret("sk-engine");
  expected.ca_bundles = {"/etc/ca.pem"};
  expected.headers = {{"X-Org", Secret("acme")}};
  expected.resolve = milliseconds{5000};
  expected.kv_events = KvEvents{"tcp://engine.example:5557",
                                "tcp://engine.example:5657",
                                "kv-events",
                                true,
                                10,
                                milliseconds{4000},
                                16,
                                2};
  expected.lmcache = Lmcache{{false, "engine.example", 8080, "/status?x=1"},
                             milliseconds{1000},
                             milliseconds{3000},
                             LmcacheFormat::kLmcacheStatus};
  EXPECT_EQ(result.config->providers[0], expected);
}

constexpr std::string_view kPipelineRoute = R"([[routes]]
model = "other"
aliases = ["gpt-4", "*"]
strategy = "pipeline"
fallback = "llama"
threshold = 0.25
min_match_bytes = 64
overload_abs = 4
overload_rel = 2
max_nodes = 100
max_index_bytes = 4096
record_replies = false
session_ttl_secs = 60
max_sessions = 9
slow_start_secs = 30
optimistic = false
tag_requests = false
tokenize = "off"
miss_weight = 3
ask_usage = true
fallback_score = "prefix"
shadow = ["predicted_ttft", "random"]
queue_capacity = 1
queue_timeout_secs = 2
[routes.weights]
weight = 2
load = 3
prefix = 4
precise = 5
lmcache = 6
[[routes.targets]]
provider = "vllm-1"
model = "m"
weight = 1.5
max_in_flight = 8
)";

TEST(Load, every_key_of_a_route_arrives_in_its_field) {
  const LoadResult result = load(kSmall + std::string(kPipelineRoute));
  ASSERT_TRUE(result.config);
  Route expected;
  expected.model = "other";
  expected.aliases = {"gpt-4", "*"};
  expected.strategy = StrategyKind::kPipeline;
  expected.fallback = "llama";
  expected.threshold = 0.25;
  expected.min_match_bytes = 64;
  expected.overload_abs = 4;
  expected.overload_rel = 2;
  expected.max_nodes = 100;
  expected.max_index_bytes = 4096;
  expected.record_replies = false;
  expected.session_ttl = milliseconds{60'000};
  expected.max_sessions = 9;
  expected.slow_start = milliseconds{30'000};
  expected.weights = {2, 4, 5, 6, 3};
  expected.optimistic = false;
  expected.tag_requests = false;
  expected.tokenize_learn = false;
  expected.miss_weight = 3;
  expected.ask_usage = true;
  expected.fallback_score_prefix = true;
  expected.shadow = {StrategyKind::kPredictedTtft, StrategyKind::kRandom};
  expected.queue = {1, milliseconds{2000}};
  expected.targets = {{0, "m", 1.5, 8}};
  EXPECT_EQ(result.config->routes[1], expected);
}

TEST(Load, a_route_takes_what_the_queue_table_says_unless_it_says_otherwise) {
  const LoadResult result = load(kSmall +
                                 "[[routes]]\nmodel = \"b\"\nqueue_capacity = 3\n"
                                 "targets = [{ provider = \"vllm-1\", model = \"m\" }]\n"
                                 "[queue]\ncapacity = 9\ntimeout_secs = 1\n");
  ASSERT_TRUE(result.config);
  EXPECT_EQ(result.config->routes[0].queue, (Queue{9, milliseconds{1000}}));
  EXPECT_EQ(result.config->routes[1].queue, (Queue{3, milliseconds{1000}}));
}

TEST(Load, a_virtual_key_closes_the_gateway_without_an_auth_table) {
  const Variables variables = {{"K", "sk-a"}};
  const std::string key = "[[virtual_keys]]\nkey_env = \"K\"\n";
  EXPECT_EQ(load(kSmall).config->auth, AuthMode::kOpen);
  EXPECT_EQ(load(kSmall + key, variables).config->auth, AuthMode::kKeys);
  EXPECT_FALSE(load(kSmall + key, variables).config->auth_mode_given);
  EXPECT_EQ(load(kSmall + key, variables).config->virtual_keys[0].name, "key-1");
  EXPECT_EQ(load(kSmall + key + "[auth]\nmode = \"open\"\n", variables).config->auth,
            AuthMode::kOpen);
}

TEST(Load, a_route_named_before_its_provider_finds_it) {
  const LoadResult result = load(
      "[[routes]]\nmodel = \"m\"\n"
      "targets = [{ provider = \"a\", model = \"m\" }]\n"
      "[[providers]]\nname = \"a\"\napi_base = \"http://a\"\n");
  ASSERT_TRUE(result.config);
  EXPECT_EQ(result.config->routes[0].targets[0].provider, 0U);
}

TEST(Load, the_summary_names_everything_but_the_secrets) {
  const LoadResult result = load(R"([server]
host = "::"
[[virtual_keys]]
key = "sk-virtual"
[[providers]]
name = "a"
api_base = "https://a.example/v1"
api_key = "sk-engine"
[[routes]]
model = "m"
aliases = ["*"]
strategy = "random"
[[routes.targets]]
provider = "a"
model = "big"
)");
  ASSERT_TRUE(result.config);
  EXPECT_EQ(summarize(*result.config),
            "api on http://[::]:4000, metrics at /metrics\n"
            "admin on http://127.0.0.1:4001\n"
            "for callers with one of 1 virtual key\n"
            "provider a: https://a.example:443, with a key\n"
            "route m, *: random over 1 target\n"
            "  a/big\n");
}

}  // namespace
}  // namespace rolter::config
