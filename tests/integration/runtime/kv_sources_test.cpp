#include "rolter/runtime/kv_sources.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <utility>

#include "rolter/proxy/state_builder.h"
#include "rolter/runtime/vocabulary.h"

namespace rolter::runtime {
namespace {

using namespace std::chrono_literals;
using config::TcpEndpoint;
using feeds::AnnouncedStream;

class KvSourcesTest : public ::testing::Test {
 protected:
  KvSourcesTest() {
    config::Provider& provider = config_.providers.emplace_back();
    provider.name = "gpu-1";
    provider.api_base.host = "10.0.0.1";
    provider.api_base.port = 8000;
    provider.kv_events.emplace();
  }

  KvSources sources(const std::vector<AnnouncedStream>& announced = {}) {
    proxy::TlsFiles tls{.server = nullptr, .clients = {}};
    tls.clients.resize(config_.providers.size());
    state_ = builder_.build(config_, std::move(tls), TimePoint{}).state;
    return kv_sources(*state_, 0, announced, hosts_);
  }
  config::KvEvents& events() { return *config_.providers[0].kv_events; }

  config::Config config_;
  std::shared_ptr<const proxy::GatewayState> state_;
  http::AddressBook hosts_;

 private:
  telemetry::MetricsRegistry metrics_{1, metric_vocabulary(), build_info()};
  proxy::StateBuilder builder_{metrics_, 1};
};

TEST_F(KvSourcesTest, ranks_are_at_consecutive_ports) {
  events().endpoint = "tcp://engine.test:5557";
  events().replay_endpoint = "tcp://engine.test:5657";
  events().dp_size = 3;
  events().topic = "kv";
  events().max_blocks = 77;
  events().stale = 4s;
  events().block_size = 16;
  const KvSources made = sources();
  ASSERT_EQ(made.sources.size(), 3U);
  const feeds::KvSource& last = made.sources[2];
  EXPECT_EQ(last.provider, "gpu-1");
  EXPECT_EQ(last.replica, state_->cluster->replicas[0]->slot());
  EXPECT_EQ(last.rank, 2U);
  EXPECT_EQ(to_string(last.events), "tcp://engine.test:5559");
  ASSERT_TRUE(last.replay);
  EXPECT_EQ(to_string(*last.replay), "tcp://engine.test:5659");
  EXPECT_EQ(last.topic, "kv");
  EXPECT_EQ(last.max_blocks, 77U);
  EXPECT_EQ(last.stale, 4s);
  EXPECT_EQ(last.block_size, 16U);
  for (const feeds::ResolvedName& name : made.names) {
    EXPECT_EQ(name.host, "engine.test");
    EXPECT_EQ(name.cell, last.events.addresses) << "one cell for all ports of a host";
  }
}

TEST_F(KvSourcesTest, the_providers_own_host_is_resolved_and_judged_with_it) {
  events().endpoint = "tcp://10.0.0.1:5557";
  const KvSources made = sources();
  ASSERT_EQ(made.sources.size(), 1U);
  EXPECT_EQ(made.sources[0].events.addresses, state_->providers[0].addresses);
  EXPECT_FALSE(made.sources[0].replay);
  EXPECT_TRUE(made.names.empty());
}

TEST_F(KvSourcesTest, what_the_engine_announces_wins) {
  events().endpoint = "tcp://engine.test:5557";
  events().stale = 0s;
  const KvSources made =
      sources({{.rank = 0, .events = TcpEndpoint{"", 6000}, .block_size = 32},
               {.rank = 1, .events = TcpEndpoint{"", 6001}, .replay = TcpEndpoint{"", 6101}}});
  ASSERT_EQ(made.sources.size(), 2U);
  EXPECT_EQ(to_string(made.sources[0].events), "tcp://10.0.0.1:6000");
  EXPECT_EQ(made.sources[0].block_size, 32U);
  EXPECT_EQ(to_string(*made.sources[1].replay), "tcp://10.0.0.1:6101");
  EXPECT_GT(made.sources[0].stale, 10'000h) << "never";
}

TEST_F(KvSourcesTest, an_announced_address_is_judged_by_the_egress_policy) {
  const KvSources made = sources({{.events = TcpEndpoint{"169.254.169.254", 80}}});
  ASSERT_EQ(made.sources.size(), 1U);
  const auto address = feeds::address_to_dial(made.sources[0].events, 0);
  ASSERT_FALSE(address);
  EXPECT_EQ(address.error().kind, ErrorKind::kDenied);
}

TEST_F(KvSourcesTest, without_endpoint_or_announcement_there_is_nothing_to_follow) {
  events().discover = true;
  EXPECT_TRUE(sources().sources.empty());
}

}  // namespace
}  // namespace rolter::runtime
