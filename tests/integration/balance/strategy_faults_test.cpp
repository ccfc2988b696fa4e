// Every strategy in front of one sound and one faulty replica: who serves, what the client sees,
// and that no load is left behind. Where a strategy knows the replicas' caches, the faulty one's is
// the better: its events tell of the prompt's blocks, its LMCache has the room.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "rolter/config/names.h"
#include "tests/fakes/event_publisher.h"
#include "tests/fakes/faulty_replica.h"
#include "tests/fakes/msgpack_writer.h"
#include "tests/integration/balance/gateway_fixture.h"

namespace rolter::runtime {
namespace {

using namespace std::chrono_literals;
using config::StrategyKind;
using fakes::FaultyReplica;
using fakes::RawAnswer;
using Manner = FaultyReplica::Manner;

constexpr const char* kIds = "1,2,3,4,5,6,7,8";

/// A batch that stores the first blocks of kIds, two tokens each.
std::string stored_blocks(std::size_t count) {
  std::vector<std::uint64_t> hashes;
  std::vector<std::uint64_t> tokens;
  for (std::size_t i = 0; i < count; ++i) {
    hashes.push_back(100 + i);
    tokens.insert(tokens.end(), {2 * i + 1, 2 * i + 2});
  }
  return fakes::batch({fakes::map({{"type", fakes::text("BlockStored")},
                                   {"block_hashes", fakes::numbers(hashes)},
                                   {"parent_block_hash", fakes::nil()},
                                   {"token_ids", fakes::numbers(tokens)},
                                   {"block_size", fakes::number(2)}})});
}

/// What a strategy may know of one replica's cache, beside the replica itself.
struct Cache {
  fakes::EventPublisher events;
  FaultyReplica lmcache;
};

class StrategyFaultsTest : public GatewayTest, public ::testing::WithParamInterface<StrategyKind> {
 protected:
  StrategyFaultsTest() {
    sound_cache_.events.publish(stored_blocks(1));
    faulty_cache_.events.publish(stored_blocks(4));
    sound_cache_.lmcache.set_page(R"({"occupancy": 0.9, "cache_available": true})");
    faulty_cache_.lmcache.set_page(R"({"occupancy": 0.1, "cache_available": true})");
    if (GetParam() == StrategyKind::kPreciseCacheAware) {
      ask_fields_ = {{"x-rolter-vllm-token-ids", kIds}};
    }
  }

  void start_both(config::Config config) {
    add_route(config, "m").strategy = GetParam();
    add_sound(config);
    wire(add_target(config, "faulty", faulty_.port()), faulty_cache_);
    start(std::move(config));
    await([this] {
      return (GetParam() != StrategyKind::kPreciseCacheAware ||
              (metric(R"(rolter_kv_blocks{target="sound"})") == 1 &&
               metric(R"(rolter_kv_blocks{target="faulty"})") == 4)) &&
             (GetParam() != StrategyKind::kLmcacheAware ||
              (replica(0).lmcache(now()) && replica(1).lmcache(now())));
    });
  }

  void add_sound(config::Config& config) {
    wire(add_target(config, "sound", sound_.port()), sound_cache_);
  }

  void wire(config::Provider& provider, const Cache& cache) const {
    if (GetParam() == StrategyKind::kPreciseCacheAware) {
      config::KvEvents& events = provider.kv_events.emplace();
      events.endpoint = fmt::format("tcp://127.0.0.1:{}", cache.events.port());
      events.replay_endpoint = fmt::format("tcp://127.0.0.1:{}", cache.events.replay_port());
    } else if (GetParam() == StrategyKind::kLmcacheAware) {
      config::Lmcache& lmcache = provider.lmcache.emplace();
      lmcache.endpoint.host = "127.0.0.1";
      lmcache.endpoint.port = cache.lmcache.port();
      lmcache.refresh = 20ms;
    }
  }

  [[nodiscard]] bool prefers_the_faulty_one() const {
    return GetParam() == StrategyKind::kPreciseCacheAware ||
           GetParam() == StrategyKind::kLmcacheAware;
  }

  /// The sound replica alone answers from now on.
  void expect_only_sound() {
    const std::size_t before = faulty_.requests();
    for (int i = 0; i < 8; ++i) {
      const RawAnswer answer = ask();
      EXPECT_EQ(answer.status, 200) << answer.body;
      EXPECT_EQ(answer.field("x-rolter-provider"), "sound");
    }
    EXPECT_EQ(faulty_.requests(), before);
    expect_no_load();
  }

  /// Asks until the faulty replica has had its chance; every answer is whole.
  void expect_no_error_until_faulty_was_asked() {
    for (int i = 0; i < 100 && faulty_.requests() == 0; ++i) {
      const RawAnswer answer = ask();
      EXPECT_EQ(answer.status, 200) << answer.body;
      EXPECT_EQ(answer.field("x-rolter-provider"), "sound");
    }
    EXPECT_GT(faulty_.requests(), 0U) << "the strategy never chose it";
    if (prefers_the_faulty_one()) {
      EXPECT_EQ(asked_, 1) << "its cache is the better one";
    }
  }

  cluster::Replica& faulty_replica() { return replica(1); }

  Cache sound_cache_;
  Cache faulty_cache_;
  FaultyReplica sound_;
  FaultyReplica faulty_;
};

TEST_P(StrategyFaultsTest, an_unhealthy_target_gets_nothing) {
  faulty_.set_healthy(false);
  start_both(base_config());
  await([this] { return !faulty_replica().eligible(now()); });
  expect_only_sound();
}

TEST_P(StrategyFaultsTest, a_cooling_target_gets_nothing) {
  faulty_.behave(Manner::kServerError);
  config::Config config = base_config();
  config.cooldown.base = 60s;
  start_both(std::move(config));
  expect_no_error_until_faulty_was_asked();
  expect_only_sound();
}

TEST_P(StrategyFaultsTest, a_target_behind_an_open_breaker_gets_nothing) {
  faulty_.behave(Manner::kServerError);
  config::Config config = base_config();
  config.cooldown.base = 0ms;
  config.breaker.enabled = true;
  config.breaker.failure_threshold = 1;
  config.breaker.open = 60s;
  start_both(std::move(config));
  expect_no_error_until_faulty_was_asked();
  expect_only_sound();
}

TEST_P(StrategyFaultsTest, a_drained_target_gets_nothing) {
  start_both(base_config());
  faulty_replica().set_drained(true, now());
  expect_only_sound();
  faulty_replica().set_drained(false, now());
  replica(0).set_drained(true, now());
  EXPECT_EQ(ask().field("x-rolter-provider"), "faulty") << "back at once";
}

TEST_P(StrategyFaultsTest, a_target_that_a_reload_removes_gets_nothing) {
  start_both(base_config());
  config::Config without = base_config();
  add_route(without, "m").strategy = GetParam();
  add_sound(without);
  ASSERT_TRUE(gateway_->reload(std::move(without)));
  expect_only_sound();
}

TEST_P(StrategyFaultsTest, a_target_that_asks_to_be_left_alone_is) {
  faulty_.behave(Manner::kRateLimited);
  config::Config config = base_config();
  config.cooldown.base = 0ms;
  start_both(std::move(config));
  expect_no_error_until_faulty_was_asked();
  expect_only_sound();
}

TEST_P(StrategyFaultsTest, a_target_that_refuses_connections_costs_no_error) {
  config::Config config = base_config();
  config.health.enabled = false;
  start_both(std::move(config));
  faulty_.refuse();
  for (int i = 0; i < 100 && faulty_replica().eligible(now()); ++i) {
    EXPECT_EQ(ask().status, 200);
  }
  EXPECT_FALSE(faulty_replica().eligible(now())) << "the strategy never chose it";
  expect_only_sound();
}

TEST_P(StrategyFaultsTest, a_target_that_stays_silent_is_left_for_the_other) {
  faulty_.behave(Manner::kHang);
  config::Config config = base_config();
  config.timeouts.request = 100ms;
  config.cooldown.base = 60s;
  start_both(std::move(config));
  expect_no_error_until_faulty_was_asked();
  expect_only_sound();
}

TEST_P(StrategyFaultsTest, a_stream_that_breaks_off_is_shown_as_broken_and_not_repeated) {
  faulty_.behave(Manner::kResetMidStream);
  config::Config config = base_config();
  config.cooldown.base = 60s;
  start_both(std::move(config));
  for (int i = 0; i < 100 && faulty_.requests() == 0; ++i) {
    const RawAnswer answer = ask("m", /*streamed=*/true);
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.complete, faulty_.requests() == 0);
  }
  EXPECT_EQ(faulty_.requests(), 1U) << "the strategy never chose it";
  EXPECT_EQ(sound_.requests() + 1, static_cast<std::size_t>(asked_));
  await([this] { return !faulty_replica().eligible(now()); });
  expect_only_sound();
}

INSTANTIATE_TEST_SUITE_P(EveryStrategy, StrategyFaultsTest,
                         ::testing::Values(StrategyKind::kCacheAware, StrategyKind::kPipeline,
                                           StrategyKind::kPreciseCacheAware,
                                           StrategyKind::kLmcacheAware, StrategyKind::kRoundRobin,
                                           StrategyKind::kRandom, StrategyKind::kLeastLoad,
                                           StrategyKind::kWeighted, StrategyKind::kPowerOfTwo,
                                           StrategyKind::kConsistentHash),
                         [](const auto& strategy) {
                           return std::string(config::to_string(strategy.param));
                         });

}  // namespace
}  // namespace rolter::runtime
