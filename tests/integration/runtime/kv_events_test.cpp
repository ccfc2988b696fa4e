// A whole gateway that follows the KV events of simulated engines.
#include "rolter/runtime/kv_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>

#include "rolter/runtime/gateway.h"
#include "tests/fakes/engine_thread.h"
#include "tests/fakes/raw_client.h"

namespace rolter::runtime {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

class KvEventsTest : public ::testing::Test {
 protected:
  simulator::SimEngine& start_engine(std::uint32_t ranks = 1) {
    simulator::EngineOptions options;
    options.speed = {.prefill_tps = 0.0, .decode_tps = 0.0};
    options.limits.block_size = 4;
    options.dp_size = ranks;
    options.kv_events.endpoint = "tcp://127.0.0.1:0";
    options.kv_events.replay_endpoint = "tcp://127.0.0.1:0";
    return engines_.start(options);
  }

  config::Config config_for(simulator::SimEngine& engine) {
    config::Config config;
    config.server.host = "127.0.0.1";
    config.server.port = 0;
    config.server.loops = 1;
    config.log.level = "error";
    config.log.access = false;
    config::Provider& provider = config.providers.emplace_back();
    provider.name = "gpu-1";
    provider.api_base.host = "127.0.0.1";
    config::KvEvents& events = provider.kv_events.emplace();
    engines_.run([&] {
      provider.api_base.port = engine.port();
      events.endpoint = engine.kv_endpoint();
      events.replay_endpoint = engine.kv_replay_endpoint();
    });
    config::Route& route = config.routes.emplace_back();
    route.model = "sim-model";
    route.targets.push_back({.provider = 0, .model = "sim-model", .weight = 1, .max_in_flight = 0});
    return config;
  }

  /// A prompt of five full blocks.
  static void ask(const Gateway& gateway, const std::string& rank = "0") {
    const auto answer = fakes::post_json(
        gateway.port(), "/v1/completions",
        R"({"model":"sim-model","prompt":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20],)"
        R"("max_tokens":1})",
        {{"X-data-parallel-rank", rank}});
    ASSERT_EQ(answer.status, 200) << answer.body;
  }

  /// Waits until the gateway's metrics say so.
  std::string await_metric(const Gateway& gateway, const std::string& line) {
    std::string metrics;
    const auto limit = std::chrono::steady_clock::now() + 20s;
    do {
      metrics = fakes::get(gateway.port(), "/metrics").body;
      if (("\n" + metrics).find("\n" + line + "\n") != std::string::npos) {
        return metrics;
      }
      std::unique_lock lock(mutex_);
      nothing_.wait_for(lock, 10ms);
    } while (std::chrono::steady_clock::now() < limit);
    ADD_FAILURE() << "never seen: " << line << "\n" << metrics;
    return metrics;
  }

  fakes::EngineThread engines_;

 private:
  std::mutex mutex_;
  std::condition_variable nothing_;
};

TEST_F(KvEventsTest, what_an_engine_stores_is_in_the_metrics) {
  simulator::SimEngine& engine = start_engine();
  Gateway gateway{config_for(engine)};
  ASSERT_TRUE(gateway.start());
  await_metric(gateway, R"(rolter_kv_stream_state{target="gpu-1"} 3)");
  ask(gateway);
  const std::string metrics = await_metric(gateway, R"(rolter_kv_blocks{target="gpu-1"} 5)");
  EXPECT_THAT(metrics, HasSubstr(R"(rolter_kv_events_total{target="gpu-1",kind="stored"} 5)"));
  EXPECT_THAT(metrics, HasSubstr(R"(rolter_kv_incidents_total{target="gpu-1",kind="gap"} 0)"));
}

TEST_F(KvEventsTest, a_gateway_that_starts_late_knows_what_its_engine_has) {
  simulator::SimEngine& engine = start_engine();
  const config::Config config = config_for(engine);
  {
    Gateway first{config};
    ASSERT_TRUE(first.start());
    ask(first);
  }
  Gateway second{config};
  ASSERT_TRUE(second.start());
  await_metric(second, R"(rolter_kv_blocks{target="gpu-1"} 5)");
}

TEST_F(KvEventsTest, a_reload_without_the_events_forgets_them_and_with_them_follows_anew) {
  simulator::SimEngine& engine = start_engine();
  const config::Config with = config_for(engine);
  config::Config without = with;
  without.providers[0].kv_events.reset();
  Gateway gateway{with};
  ASSERT_TRUE(gateway.start());
  ask(gateway);
  await_metric(gateway, R"(rolter_kv_blocks{target="gpu-1"} 5)");
  ASSERT_TRUE(gateway.reload(without));
  const std::string metrics = await_metric(gateway, R"(rolter_kv_stream_state{target="gpu-1"} 0)");
  EXPECT_THAT(metrics, Not(HasSubstr("rolter_kv_blocks{")));
  ASSERT_TRUE(gateway.reload(with));
  await_metric(gateway, R"(rolter_kv_blocks{target="gpu-1"} 5)");
}

TEST_F(KvEventsTest, the_engine_itself_tells_where_the_events_of_each_rank_are) {
  simulator::SimEngine& engine = start_engine(2);
  config::Config config = config_for(engine);
  config.providers[0].kv_events->endpoint.clear();
  config.providers[0].kv_events->replay_endpoint.clear();
  config.providers[0].kv_events->discover = true;
  Gateway gateway{config};
  ASSERT_TRUE(gateway.start());
  await_metric(gateway, R"(rolter_kv_stream_state{target="gpu-1"} 3)");
  ask(gateway, "0");
  ask(gateway, "1");
  await_metric(gateway, R"(rolter_kv_blocks{target="gpu-1"} 10)");
}

TEST_F(KvEventsTest, an_announced_endpoint_that_may_not_be_dialled_is_not) {
  simulator::SimEngine& engine = start_engine();
  config::Config config = config_for(engine);
  config.providers[0].kv_events->endpoint.clear();
  config.providers[0].kv_events->discover = true;
  config.providers[0].api_base.host = "localhost";
  config.egress.block_loopback = true;
  config.egress.allow_hosts = {"localhost"};  // the API, and no address that it names
  Gateway gateway{config};
  ASSERT_TRUE(gateway.start());
  await_metric(gateway, R"(rolter_kv_stream_state{target="gpu-1"} 1)");
  ask(gateway);
  const std::string metrics = await_metric(gateway, R"(rolter_kv_blocks{target="gpu-1"} 0)");
  EXPECT_THAT(metrics, HasSubstr(R"(rolter_kv_stream_state{target="gpu-1"} 1)"));
}

}  // namespace
}  // namespace rolter::runtime
