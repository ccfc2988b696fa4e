// precise_cache_aware over simulated engines and their real event streams: what the gateway expects
// in an engine's cache against what the engine reports to have found there.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fakes/engine_thread.h"
#include "tests/integration/balance/gateway_fixture.h"

namespace rolter::runtime {
namespace {

constexpr std::size_t kEngines = 4;
constexpr std::string_view kCached = "\"cached_tokens\":";

class PreciseEndToEndTest : public GatewayTest {
 protected:
  struct Addresses {
    std::uint16_t port = 0;
    std::string events;
    std::string replay;
  };

  PreciseEndToEndTest() {
    for (std::size_t i = 0; i < kEngines; ++i) {
      simulator::EngineOptions options;
      options.model = "m";
      options.speed = {0.0, 0.0};
      options.seed = i;
      options.kv_events.endpoint = "tcp://127.0.0.1:0";
      options.kv_events.replay_endpoint = "tcp://127.0.0.1:0";
      simulator::SimEngine& engine = engines_.start(options);
      engines_.run([&] {
        addresses_.push_back({.port = engine.port(),
                              .events = engine.kv_endpoint(),
                              .replay = engine.kv_replay_endpoint()});
      });
    }
  }

  [[nodiscard]] config::Config gateway_config() const {
    config::Config config = base_config();
    add_route(config, "m").strategy = config::StrategyKind::kPreciseCacheAware;
    for (std::size_t i = 0; i < kEngines; ++i) {
      config::KvEvents& events =
          add_target(config, name(i), addresses_[i].port).kv_events.emplace();
      events.endpoint = addresses_[i].events;
      events.replay_endpoint = addresses_[i].replay;
      events.block_size = 16;
    }
    return config;
  }

  static std::string name(std::size_t engine) { return "engine-" + std::to_string(engine); }

  /// One of a few beginnings, and what follows it now and then again.
  std::vector<TokenId> next_prompt() {
    const TokenId family = random_() % 12;
    std::vector<TokenId> ids;
    for (TokenId i = 0; i < 40 + family * 30; ++i) {
      ids.push_back(family * 1'000 + i);
    }
    const TokenId variant = random_() % 10;
    for (TokenId i = 0; i < random_() % 200; ++i) {
      ids.push_back(20'000 + variant * 1'000 + i);
    }
    return ids;
  }

  struct Seen {
    std::string provider;
    double expected = 0;
    double reported = 0;
  };

  Seen send(const std::vector<TokenId>& ids) {
    const fakes::RawAnswer answer =
        post("/v1/completions",
             fmt::format(R"({{"model":"m","max_tokens":1,"prompt":[{}]}})", fmt::join(ids, ",")));
    EXPECT_EQ(answer.status, 200) << answer.body;
    Seen seen{.provider = answer.field("x-rolter-provider")};
    const std::size_t at = answer.body.find(kCached);
    EXPECT_NE(at, std::string::npos) << answer.body;
    seen.reported = std::stod(answer.body.substr(at + kCached.size(), 20));
    const double expected = expected_so_far();
    seen.expected = expected - expected_before_;
    expected_before_ = expected;
    return seen;
  }

  /// Share of `count` requests whose cached tokens were as expected.
  double share_as_expected(int count) {
    int right = 0;
    for (int i = 0; i < count; ++i) {
      const Seen seen = send(next_prompt());
      right += seen.expected == seen.reported ? 1 : 0;
    }
    return right / static_cast<double>(count);
  }

  double expected_so_far() const {
    double sum = 0;
    for (std::size_t i = 0; i < kEngines; ++i) {
      sum += expected_at(i);
    }
    return sum;
  }
  double expected_at(std::size_t engine) const {
    return metric(fmt::format(R"(rolter_predicted_cached_tokens_total{{route="m",target="{}/m"}})",
                              name(engine)));
  }

  fakes::EngineThread engines_;
  std::vector<Addresses> addresses_;
  std::mt19937_64 random_{11};
  double expected_before_ = 0;
};

TEST_F(PreciseEndToEndTest, engines_find_what_was_expected_before_and_after_a_restart) {
  start(gateway_config());
  EXPECT_GE(share_as_expected(200), 0.99);
  gateway_.reset();
  start(gateway_config());
  expected_before_ = 0;
  const TimePoint limit = now() + std::chrono::seconds(2);
  for (std::size_t i = 0; i < kEngines; ++i) {
    await([&] { return metric(fmt::format(R"(rolter_kv_blocks{{target="{}"}})", name(i))) > 0; });
  }
  EXPECT_LT(now(), limit) << "replays took longer than two seconds";
  EXPECT_GE(share_as_expected(200), 0.99);
  EXPECT_GT(expected_before_, 10'000) << "hardly anything was found in a cache";
  expect_no_load();
}

TEST_F(PreciseEndToEndTest, an_engine_whose_events_are_cut_off_is_given_no_credit) {
  config::Config config = gateway_config();
  config.providers[3].kv_events->endpoint = "tcp://127.0.0.1:9";
  config.providers[3].kv_events->replay_endpoint.clear();
  start(std::move(config));
  int at_the_blind_one = 0;
  for (int i = 0; i < 150; ++i) {
    const Seen seen = send(next_prompt());
    if (seen.provider == name(3)) {
      ++at_the_blind_one;
      EXPECT_EQ(seen.expected, 0.0);
    } else {
      EXPECT_EQ(seen.expected, seen.reported);
    }
  }
  EXPECT_EQ(expected_at(3), 0.0);
  EXPECT_GT(at_the_blind_one, 0) << "it takes part all the same";
  expect_no_load();
}

}  // namespace
}  // namespace rolter::runtime
