#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rolter/base/time.h"

namespace rolter::config {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// The whole configuration as plain values: defaults are visible here, durations are milliseconds
/// (a `_secs` key may be fractional), 0 means "no limit" unless said otherwise. Made only by
/// load_config(), which has checked every range and reference.

/// A secret: never printed. Streaming or formatting one gives "***".
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string value) : value_(std::move(value)) {}
  [[nodiscard]] const std::string& reveal() const { return value_; }
  [[nodiscard]] bool empty() const { return value_.empty(); }
  bool operator==(const Secret&) const = default;

 private:
  std::string value_;
};

struct ServerTls {
  std::string cert;  // PEM file
  std::string key;   // PEM file
  bool operator==(const ServerTls&) const = default;
};

struct Server {
  std::string host = "0.0.0.0";
  std::uint16_t port = 4000;
  std::string metrics_path = "/metrics";
  std::size_t max_body_bytes = 33'554'432;
  std::size_t max_head_bytes = 65'536;
  std::size_t max_head_fields = 128;
  std::size_t max_token_ids_bytes = 8'388'608;
  std::size_t loops = 0;  // 0 = number of cores
  milliseconds drain_settle{0};
  milliseconds drain{30'000};
  std::size_t max_connections = 10'000;
  std::size_t max_buffered_bytes = 2'147'483'648;  // of requests, all connections together
  std::optional<ServerTls> tls;
  bool operator==(const Server&) const = default;
};

struct Log {
  std::string level = "info";   // debug, info, warn, error
  std::string format = "json";  // or text
  bool access = true;
  bool prompts = false;
  bool blocks = false;  // digests of prompts in access lines
  bool operator==(const Log&) const = default;
};

enum class AuthMode : std::uint8_t { kOpen, kKeys };

struct VirtualKey {
  Secret key;
  std::string name;
  std::vector<std::string> models;  // empty = all
  bool disabled = false;
  std::optional<WallTime> expires_at;
  std::uint64_t requests_per_minute = 0;
  std::uint64_t tokens_per_minute = 0;
  std::uint32_t max_in_flight = 0;
  bool operator==(const VirtualKey&) const = default;
};

/// http or https, host without brackets, port, and the path that precedes "/v1" ("" usually): a
/// trailing "/" or "/v1" of api_base is normalised away.
struct Url {
  bool tls = false;
  std::string host;
  std::uint16_t port = 80;
  std::string base_path;
  bool operator==(const Url&) const = default;
};

struct KvEvents {
  std::string endpoint;         // tcp://host:port
  std::string replay_endpoint;  // "" = none
  std::string topic;            // prefix filter applied by us; "" = everything
  bool discover = false;
  std::size_t max_blocks = 1'000'000;
  milliseconds stale{30'000};
  std::uint32_t block_size = 0;  // tokens; 0 = learned
  std::uint32_t dp_size = 1;
  bool operator==(const KvEvents&) const = default;
};

enum class LmcacheFormat : std::uint8_t { kJson, kPrometheus, kLmcacheStatus };

struct Lmcache {
  Url endpoint;  // base_path holds the whole path
  milliseconds refresh{2'000};
  milliseconds stale{10'000};
  LmcacheFormat format = LmcacheFormat::kJson;
  bool operator==(const Lmcache&) const = default;
};

struct Provider {
  std::string name;
  std::string kind = "openai_compatible";
  Url api_base;
  Secret api_key;
  std::vector<std::string> ca_bundles;
  std::vector<std::pair<std::string, Secret>> headers;  // values may be secret
  milliseconds resolve{30'000};
  std::optional<KvEvents> kv_events;
  std::optional<Lmcache> lmcache;
  bool operator==(const Provider&) const = default;
};

enum class StrategyKind : std::uint8_t {
  kCacheAware,
  kPipeline,
  kPreciseCacheAware,
  kLmcacheAware,
  kPredictedTtft,
  kRoundRobin,
  kRandom,
  kLeastLoad,
  kWeighted,
  kPowerOfTwo,
  kConsistentHash,
};

struct RouteWeights {
  double weight = 1.0;
  double prefix = 1.0;
  double precise = 1.0;
  double lmcache = 1.0;
  std::optional<double> load;  // absent: 1 for pipeline, 0.25 for precise and lmcache
  bool operator==(const RouteWeights&) const = default;
};

struct RouteTarget {
  std::size_t provider = 0;  // position in Config::providers
  std::string model;
  double weight = 1.0;
  std::uint32_t max_in_flight = 0;
  bool operator==(const RouteTarget&) const = default;
};

struct Queue {
  std::size_t capacity = 256;
  milliseconds timeout{10'000};
  bool operator==(const Queue&) const = default;
};

struct Route {
  std::string model;
  std::vector<std::string> aliases;  // "*" catches the rest
  StrategyKind strategy = StrategyKind::kCacheAware;
  std::string fallback;  // another route's model, "" = none
  double threshold = 0.5;
  std::size_t min_match_bytes = 0;
  std::uint32_t overload_abs = 2;
  double overload_rel = 1.5;
  std::size_t max_nodes = 1'000'000;
  std::size_t max_index_bytes = 268'435'456;
  bool record_replies = true;
  milliseconds session_ttl{3'600'000};
  std::size_t max_sessions = 100'000;
  milliseconds slow_start{0};
  RouteWeights weights;
  bool optimistic = true;
  bool tag_requests = true;
  bool tokenize_learn = true;
  double miss_weight = 2.0;
  bool ask_usage = false;
  bool fallback_score_prefix = false;
  std::vector<StrategyKind> shadow;
  Queue queue;  // [queue], overridable as queue_capacity and queue_timeout_secs
  std::vector<RouteTarget> targets;
  bool operator==(const Route&) const = default;
};

struct Retry {
  std::uint32_t max_retries = 2;
  milliseconds base_backoff{100};
  milliseconds max_backoff{2'000};
  double budget = 0.2;  // retries per request, with a floor of 10 a second
  bool operator==(const Retry&) const = default;
};

struct Cooldown {
  milliseconds base{5'000};  // 0 = off
  milliseconds max{300'000};
  bool operator==(const Cooldown&) const = default;
};

struct Timeouts {
  milliseconds connect{10'000};
  std::optional<milliseconds> request;  // to the first body byte; absent: 600 s for streams only
  milliseconds idle{0};
  milliseconds heartbeat{0};  // comments to clients that wait for a stream's first byte; 0: none
  milliseconds client_head{30'000};
  milliseconds client_body{60'000};
  milliseconds client_idle{75'000};
  bool operator==(const Timeouts&) const = default;
};

struct Health {
  bool enabled = true;
  milliseconds interval{10'000};
  milliseconds timeout{2'000};
  std::string path = "/health";
  std::uint32_t fail_after = 3;
  std::uint32_t pass_after = 2;
  bool operator==(const Health&) const = default;
};

struct Breaker {
  bool enabled = false;
  std::uint32_t failure_threshold = 5;
  milliseconds open{30'000};
  bool operator==(const Breaker&) const = default;
};

struct MetricsScrape {
  bool enabled = false;
  milliseconds interval{5'000};
  milliseconds timeout{2'000};
  std::string path = "/metrics";
  bool operator==(const MetricsScrape&) const = default;
};

struct Egress {
  bool block_link_local = true;
  bool block_loopback = false;
  bool block_private = false;
  std::vector<std::string> allow_hosts;
  bool operator==(const Egress&) const = default;
};

struct Admin {
  std::string host = "127.0.0.1";
  std::uint16_t port = 4001;
  Secret token;
  bool operator==(const Admin&) const = default;
};

struct Index {
  std::string save_path;  // "" = off
  std::uint32_t tokenize_per_second = 50;
  bool operator==(const Index&) const = default;
};

struct Config {
  Server server;
  Log log;
  AuthMode auth = AuthMode::kOpen;
  bool auth_mode_given = false;
  std::vector<VirtualKey> virtual_keys;
  std::vector<Provider> providers;
  std::vector<Route> routes;
  Index index;
  Queue queue;
  Retry retry;
  Cooldown cooldown;
  Timeouts timeouts;
  Health health;
  Breaker breaker;
  MetricsScrape metrics_scrape;
  Egress egress;
  Admin admin;
  bool operator==(const Config&) const = default;
};

}  // namespace rolter::config
