#include "rolter/runtime/control_feeds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>

#include "rolter/runtime/gateway.h"
#include "tests/integration/feeds/poll_test_loop.h"

namespace rolter::runtime {
namespace {

using namespace std::chrono_literals;
using fakes::http_answer;
using fakes::HttpResponder;
using testing::HasSubstr;

constexpr const char* kLoad = "vllm:num_requests_running 3\nvllm:num_requests_waiting 4\n";

/// A whole gateway on its own threads in front of one scripted replica on the test's loop.
class ControlFeedsTest : public feeds::PollTest {
 protected:
  config::Config config_for(const HttpResponder& replica) {
    config::Config config;
    config.server.host = "127.0.0.1";
    config.server.port = 0;
    config.server.loops = 1;
    config.log.level = "error";
    config.log.access = false;
    config.health.interval = 50ms;
    config.health.timeout = 500ms;
    config.metrics_scrape.enabled = true;
    config.metrics_scrape.interval = 50ms;
    config::Provider& provider = config.providers.emplace_back();
    provider.name = "gpu-1";
    provider.api_key = config::Secret{"of-the-provider"};
    provider.api_base.host = "127.0.0.1";
    provider.api_base.port = replica.endpoint().port();
    provider.lmcache.emplace();
    provider.lmcache->endpoint = provider.api_base;
    provider.lmcache->endpoint.base_path = "/cache";
    provider.lmcache->refresh = 50ms;
    config::Route& route = config.routes.emplace_back();
    route.model = "m";
    route.targets.push_back({.provider = 0, .model = "m", .weight = 1.0, .max_in_flight = 0});
    return config;
  }

  /// The gateway's metrics as they are now.
  std::string metrics_of(const Gateway& gateway) {
    std::optional<Result<feeds::GetAnswer>> answer;
    feeds::HttpGet get{loop_};
    scope_.spawn("metrics", fetch(get, gateway.port(), answer));
    run_until([&] { return answer.has_value(); });
    return answer && *answer ? (*answer)->body : "";
  }

  static http::Task<> fetch(feeds::HttpGet& get, std::uint16_t port,
                            std::optional<Result<feeds::GetAnswer>>& answer) {
    const http::Endpoint gateway{http::asio::ip::address_v4::loopback(), port};
    const feeds::HttpSource source{.addresses = std::make_shared<http::AddressCell>(
                                       std::make_shared<const http::Addresses>(1, gateway)),
                                   .egress = [](const http::Endpoint&) { return Result<void>{}; },
                                   .fields = "Host: gateway\r\n"};
    answer = co_await get.run(source, feeds::render_get(source, "/metrics"),
                              {.timeout = 5s, .max_body_bytes = 1 << 20});
  }

  /// Waits until the gateway's metrics say so.
  void expect_metric(const Gateway& gateway, const std::string& line) {
    for (int i = 0; i < 200; ++i) {
      last_metrics_ = metrics_of(gateway);
      if (("\n" + last_metrics_).find("\n" + line + "\n") != std::string::npos) {
        return;
      }
      io_.run_for(20ms);
    }
    ADD_FAILURE() << "never seen: " << line << "\n" << last_metrics_;
  }

  std::string last_metrics_;
};

std::optional<std::string> answer_as_engine(const std::string& head) {
  if (head.find("Authorization: Bearer of-the-provider\r\n") == std::string::npos) {
    return http_answer(401, "");
  }
  if (head.starts_with("GET /metrics ")) {
    return http_answer(200, kLoad);
  }
  if (head.starts_with("GET /cache ")) {
    return http_answer(200, R"({"occupancy":0.25,"cache_available":true})");
  }
  return http_answer(head.starts_with("GET /health ") ? 200 : 404, "");
}

TEST_F(ControlFeedsTest, what_the_replica_says_is_in_the_metrics) {
  HttpResponder replica{io_, answer_as_engine};
  Gateway gateway{config_for(replica)};
  ASSERT_TRUE(gateway.start());
  expect_metric(gateway, R"(rolter_target_queue_depth{target="gpu-1"} 7)");
  expect_metric(gateway, R"(rolter_lmcache_occupancy_ratio{target="gpu-1"} 0.25)");
  expect_metric(gateway, R"(rolter_target_eligible{target="gpu-1"} 1)");
  EXPECT_THAT(last_metrics_,
              HasSubstr(R"(rolter_health_probes_total{target="gpu-1",result="refused"} 0)"));
}

TEST_F(ControlFeedsTest, a_replica_that_goes_away_is_out_and_back_within_three_seconds) {
  HttpResponder replica{io_, answer_as_engine};
  Gateway gateway{config_for(replica)};
  ASSERT_TRUE(gateway.start());
  expect_metric(gateway, R"(rolter_target_eligible{target="gpu-1"} 1)");
  replica.stop_listening();
  expect_metric(gateway, R"(rolter_target_eligible{target="gpu-1"} 0)");
  expect_metric(gateway, R"(rolter_cooldowns_tripped_total{target="gpu-1"} 1)");
  replica.listen();
  const auto back = std::chrono::steady_clock::now();
  expect_metric(gateway, R"(rolter_target_eligible{target="gpu-1"} 1)");
  EXPECT_LT(std::chrono::steady_clock::now() - back, 3s);
}

TEST_F(ControlFeedsTest, a_reload_follows_the_new_configuration_and_asks_the_old_one_no_more) {
  HttpResponder old_one{io_, answer_as_engine};
  HttpResponder new_one{io_, answer_as_engine};
  Gateway gateway{config_for(old_one)};
  ASSERT_TRUE(gateway.start());
  run_until([&] { return !old_one.heads().empty(); });
  ASSERT_TRUE(gateway.reload(config_for(new_one)));
  // Several rounds of the new one: by then the old one has read whatever was sent to it before.
  run_until([&] { return new_one.heads().size() >= 12; });
  const std::size_t seen_by_old = old_one.heads().size();
  const std::size_t seen_by_new = new_one.heads().size();
  run_until([&] { return new_one.heads().size() >= seen_by_new + 10; });
  EXPECT_EQ(old_one.heads().size(), seen_by_old);
}

}  // namespace
}  // namespace rolter::runtime
