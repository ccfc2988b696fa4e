#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rolter/admission/key_ring.h"
#include "rolter/admission/wait_queue.h"
#include "rolter/balance/shadow.h"
#include "rolter/balance/strategy.h"
#include "rolter/cluster/cluster_view.h"
#include "rolter/cluster/retry_policy.h"
#include "rolter/config/config.h"
#include "rolter/http/address_book.h"
#include "rolter/http/server_connection.h"
#include "rolter/http/upstream_pool.h"
#include "rolter/telemetry/log_format.h"
#include "rolter/telemetry/series.h"

namespace rolter::proxy {

/// Another server that belongs to a provider.
struct SideServer {
  std::string host_field;  // "Host: h:8001\r\n"
  std::shared_ptr<http::AddressCell> addresses;
  http::EgressCheck egress;
  http::TlsPeer tls{};
};

/// A provider as the data path needs it: everything that can be is rendered in advance.
struct Provider {
  std::string name;
  std::string host_field;  // "Host: h:8001\r\n"
  std::string base_path;   // before the request's own path
  std::string own_fields;  // the configured headers and, with a key, "Authorization: ...\r\n"
  bool replaces_authorization = false;
  std::shared_ptr<http::AddressCell> addresses;
  http::EgressCheck egress;
  http::TlsPeer tls{};  // without a context: plain
  std::optional<SideServer> lmcache{};
};

struct Route {
  std::size_t index = 0;  // in Config::routes and ClusterView::routes
  std::string model;
  std::unique_ptr<balance::Strategy> strategy;
  std::vector<std::unique_ptr<balance::Shadow>> shadows;  // as config::Route::shadow
  std::optional<std::size_t> fallback;                    // another route
  std::shared_ptr<admission::WaitQueue> queue;            // null when none of its targets has a cap
};

/// One configuration at work. Immutable and published whole: a request keeps the one it began with,
/// so that it never sees half of each. Any thread may read it.
struct GatewayState {
  config::Config config;
  std::uint64_t version = 1;      // counts successful loads
  std::uint64_t digest_seed = 0;  // of prompts' digests, random per process: they confirm no guess
  std::shared_ptr<const cluster::ClusterView> cluster;
  std::vector<Provider> providers;  // as Config::providers
  std::vector<Route> routes;        // as Config::routes
  std::unique_ptr<const admission::KeyRing> keys;
  cluster::RetryPolicy retry_policy{{}, {}};
  http::ServerLimits limits;
  std::shared_ptr<const http::TlsContext> server_tls;             // null: plain
  telemetry::LogFormat log_format = telemetry::LogFormat::kJson;  // of access lines
  std::shared_ptr<const telemetry::MetricsLayout> metrics;

  struct StringHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  std::unordered_map<std::string, std::size_t, StringHash, std::equal_to<>> route_by_model;
  std::optional<std::size_t> catch_all;  // the route with the alias "*"

  /// The route of that name or alias; null when there is none.
  [[nodiscard]] const Route* find_named(std::string_view name) const;
  /// The route for a model's name, alias or "*".
  [[nodiscard]] const Route* find_route(std::string_view model) const;
};

}  // namespace rolter::proxy
