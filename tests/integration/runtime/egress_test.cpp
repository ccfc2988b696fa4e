// [egress] over every way by which a whole gateway comes to connect: requests, probes and polls,
// KV events and their replays. The names mean what the test says, and each connect is noted.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "rolter/config/ip_address.h"
#include "tests/fakes/event_publisher.h"
#include "tests/fakes/outside_world.h"
#include "tests/integration/balance/gateway_fixture.h"
#include "tests/support/egress_places.h"

namespace rolter::runtime {
namespace {

using namespace std::chrono_literals;
using config::Verdict;
using fakes::OutsideWorld;

// Below 1024, so that no connect gets out.
constexpr std::uint16_t kApi = 101;
constexpr std::uint16_t kEvents = 102;
constexpr std::uint16_t kReplay = 103;
constexpr std::uint16_t kLmcache = 104;
constexpr std::array kPolled{kApi, kEvents, kReplay, kLmcache};

constexpr const char* kInside = "inside.test";

/// As the kernel writes it.
std::string canonical(const config::IpAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.is_v4()) {
    ::inet_ntop(AF_INET, address.v4().data(), text.data(), text.size());
  } else {
    ::inet_ntop(AF_INET6, address.v6().data(), text.data(), text.size());
  }
  return text.data();
}

bool has_ipv6() {
  const int socket = ::socket(AF_INET6, SOCK_STREAM, 0);
  ::close(socket);
  return socket >= 0;
}

/// The addresses of the table, each once.
std::map<std::string, Verdict> addresses() {
  std::map<std::string, Verdict> all;
  for (const test::Place& place : test::kPlaces) {
    const auto address = config::parse_ip_literal(place.host);
    if (address && (address->is_v4() || has_ipv6())) {
      all[canonical(*address)] = place.range;
    }
  }
  return all;
}

class EgressTest : public GatewayTest {
 protected:
  EgressTest() {
    world().set_name(kInside, {"127.0.0.1"});
    world().forget_attempts();
  }

  static OutsideWorld& world() { return OutsideWorld::get(); }

  static std::string name_of(std::size_t number) { return fmt::format("place-{}.test", number); }

  /// A provider of that name, whose API is at the host.
  static config::Provider& add_api(config::Config& config, const std::string& name,
                                   const std::string& host) {
    add_route(config, name);
    config::Provider& provider = add_target(config, name, kApi);
    provider.api_base.host = host;
    return provider;
  }

  /// Everything that is asked beside requests leads to the host.
  void add_polled(config::Config& config, const std::string& host) {
    config::Provider& whole = add_api(config, host, host);
    whole.kv_events.emplace().endpoint = fmt::format("tcp://{}:{}", host, kEvents);
    whole.lmcache.emplace().endpoint = {.host = host, .port = kLmcache, .base_path = "/"};
    whole.lmcache->refresh = 20ms;
    // A replay is asked for once the events themselves come.
    config::KvEvents& events = add_api(config, "replay of " + host, host).kv_events.emplace();
    events.endpoint = fmt::format("tcp://{}:{}", kInside, publisher_.port());
    events.replay_endpoint = fmt::format("tcp://{}:{}", host, kReplay);
  }

  static config::Config config_with(config::Egress egress) {
    config::Config config = base_config();
    egress.allow_hosts = {kInside};
    config.egress = std::move(egress);
    return config;
  }

  [[nodiscard]] static bool everything_dialled(const std::string& address) {
    return std::ranges::all_of(
        kPolled, [&](std::uint16_t port) { return world().attempts(address, port) > 0; });
  }

  static std::string state_line(const std::string& provider, int state) {
    return fmt::format("\nrolter_kv_stream_state{{target=\"{}\"}} {}\n", provider, state);
  }

  int status_of(const std::string& model) {
    return post("/v1/completions",
                fmt::format(R"({{"model":"{}","prompt":"a","max_tokens":1}})", model))
        .status;
  }

  fakes::EventPublisher publisher_;
};

class EgressPolicies : public EgressTest, public ::testing::WithParamInterface<config::Egress> {
 protected:
  [[nodiscard]] static bool allowed(Verdict range) {
    const config::Egress& egress = GetParam();
    switch (range) {
      case Verdict::kAllowed:
        return true;
      case Verdict::kLinkLocal:
        return !egress.block_link_local;
      case Verdict::kLoopback:
        return !egress.block_loopback;
      case Verdict::kPrivate:
        return !egress.block_private;
      case Verdict::kMulticast:
        return false;
    }
    return false;
  }
};

TEST_P(EgressPolicies, no_request_reaches_a_denied_address) {
  config::Config config = config_with(GetParam());
  config.health.enabled = false;
  config.retry.max_retries = 0;
  std::size_t count = 0;
  for (const auto& [address, range] : addresses()) {
    world().set_name(name_of(count), {address});
    add_api(config, name_of(count), name_of(count));
    ++count;
  }
  start(std::move(config));
  count = 0;
  for (const auto& [address, range] : addresses()) {
    EXPECT_GE(status_of(name_of(count++)), 500) << address;
    EXPECT_EQ(world().attempts(address), allowed(range) ? 1U : 0U) << address;
  }
  EXPECT_GE(count, has_ipv6() ? 60U : 30U);
}

TEST_P(EgressPolicies, no_probe_poll_or_stream_reaches_a_denied_address) {
  config::Config config = config_with(GetParam());
  std::size_t count = 0;
  for (const auto& [address, range] : addresses()) {
    world().set_name(name_of(count), {address});
    add_polled(config, name_of(count));
    ++count;
  }
  start(std::move(config));
  for (const auto& [address, range] : addresses()) {
    if (allowed(range)) {
      await([&] { return everything_dialled(address); });
      EXPECT_TRUE(everything_dialled(address)) << address;
    }
  }
  std::vector<std::string> denied;
  count = 0;
  for (const auto& [address, range] : addresses()) {
    const std::string host = name_of(count++);
    if (!allowed(range)) {
      denied.push_back(state_line(host, 1));  // nothing has been heard
      // The events came, a replay of them was wanted, and given up.
      denied.push_back(state_line("replay of " + host, 5));
    }
  }
  await([&] {
    const std::string page = fakes::get(gateway_->port(), "/metrics").body;
    return std::ranges::all_of(
        denied, [&](const std::string& line) { return page.find(line) != std::string::npos; });
  });
  for (const auto& [address, range] : addresses()) {
    if (!allowed(range)) {
      EXPECT_EQ(world().attempts(address), 0U) << address;
    }
  }
}

config::Egress blocking_all() {
  config::Egress egress;
  egress.block_link_local = egress.block_loopback = egress.block_private = true;
  return egress;
}

INSTANTIATE_TEST_SUITE_P(Policy, EgressPolicies,
                         ::testing::Values(config::Egress{}, blocking_all()));

constexpr const char* kRebinding = "rebinding.test";
constexpr const char* kMetadata = "169.254.169.254";

class RebindingTest : public EgressTest {
 protected:
  RebindingTest() {
    world().set_name(kRebinding, {"203.0.113.1"});
    config::Config config = config_with({});
    add_polled(config, kRebinding);
    config.retry.max_retries = 0;
    for (config::Provider& provider : config.providers) {
      provider.resolve = 20ms;
    }
    start(std::move(config));
    await([] { return everything_dialled("203.0.113.1"); });
  }

  /// The name means these from now on; returns when the gateway has seen it.
  void rebind(std::vector<std::string> addresses) {
    world().set_name(kRebinding, std::move(addresses));
    await([] { return world().lookups(kRebinding) >= 6; });  // three cells at most
    world().forget_attempts();
    publisher_.cut();  // so that a replay is asked for anew
    publisher_.come_back();
  }
};

TEST_F(RebindingTest, a_denied_address_among_others_is_passed_over) {
  rebind({kMetadata, "203.0.113.2"});
  await([] { return everything_dialled("203.0.113.2"); });
  EXPECT_GE(status_of(kRebinding), 500);
  EXPECT_EQ(world().attempts(kMetadata), 0U);
}

TEST_F(RebindingTest, a_name_that_means_nothing_else_is_not_connected_to_until_it_does) {
  for (const char* form : {kMetadata, "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe",
                           "2002:a9fe:a9fe::1", "fe80::1", "224.0.0.1"}) {
    rebind({form});
    EXPECT_GE(status_of(kRebinding), 500);
    const std::size_t before = world().lookups(kRebinding);
    await([&] { return world().lookups(kRebinding) >= before + 20; });
    EXPECT_EQ(world().attempts(form), 0U) << form;
  }
  rebind({"203.0.113.3"});
  await([] {  // replays rest for a while after so many that came to nothing
    return std::ranges::all_of(kPolled, [](std::uint16_t port) {
      return port == kReplay || world().attempts("203.0.113.3", port) > 0;
    });
  });
  EXPECT_EQ(world().attempts(kMetadata), 0U);
}

}  // namespace
}  // namespace rolter::runtime
