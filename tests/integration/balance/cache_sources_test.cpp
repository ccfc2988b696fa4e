// What strategies are told of a replica's cache beside the prefix tree: token ids of the request,
// and LMCache.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/fakes/faulty_replica.h"
#include "tests/integration/balance/gateway_fixture.h"

namespace rolter::runtime {
namespace {

using namespace std::chrono_literals;
using config::StrategyKind;
using fakes::FaultyReplica;
using fakes::RawAnswer;

constexpr const char* kIdsField = "x-rolter-vllm-token-ids";
constexpr const char* kBadIds = R"(rolter_fallbacks_total{route="m",cause="bad_token_ids"})";
constexpr const char* kChat =
    R"({"model":"m","messages":[{"role":"user","content":"what is it?"}]})";

class CacheSourcesTest : public GatewayTest {
 protected:
  config::Config config_with(StrategyKind strategy) {
    config::Config config = base_config();
    add_route(config, "m").strategy = strategy;
    add_target(config, "first", first_.port());
    add_target(config, "second", second_.port());
    return config;
  }

  void add_lmcache(config::Config& config, std::size_t provider, const FaultyReplica& server) {
    config::Lmcache& lmcache = config.providers[provider].lmcache.emplace();
    lmcache.endpoint.host = "127.0.0.1";
    lmcache.endpoint.port = server.port();
    lmcache.endpoint.base_path = "/cache";
    lmcache.refresh = 20ms;
  }

  /// With the two targets' LMCaches known to the gateway.
  void start_with_caches(const char* page_of_first, const char* page_of_second) {
    first_cache_.set_page(page_of_first);
    second_cache_.set_page(page_of_second);
    config::Config config = config_with(StrategyKind::kLmcacheAware);
    add_lmcache(config, 0, first_cache_);
    add_lmcache(config, 1, second_cache_);
    start(std::move(config));
    await([this] { return replica(0).lmcache(now()) && replica(1).lmcache(now()); });
  }

  /// Of 20 requests, how many the first target got.
  int share_of_first() {
    int count = 0;
    for (int i = 0; i < 20; ++i) {
      const RawAnswer answer = ask();
      EXPECT_EQ(answer.status, 200);
      count += answer.field("x-rolter-provider") == "first" ? 1 : 0;
    }
    expect_no_load();
    return count;
  }

  FaultyReplica first_;
  FaultyReplica second_;
  FaultyReplica first_cache_;
  FaultyReplica second_cache_;
};

TEST_F(CacheSourcesTest, token_ids_are_not_forwarded) {
  start(config_with(StrategyKind::kPreciseCacheAware));
  EXPECT_EQ(post("/v1/chat/completions", kChat, {{kIdsField, "1, 2,3"}}).status, 200);
  const std::string seen = first_.last_request() + second_.last_request();
  EXPECT_EQ(seen.find("token-ids"), std::string::npos) << seen;
  EXPECT_EQ(metric(kBadIds), 0.0);
}

TEST_F(CacheSourcesTest, token_ids_that_cannot_be_read_are_counted_and_change_nothing_else) {
  start(config_with(StrategyKind::kPreciseCacheAware));
  for (const char* const junk : {"1,,2", "-4", "one", "99999999999", "1;2"}) {
    EXPECT_EQ(post("/v1/chat/completions", kChat, {{kIdsField, junk}}).status, 200) << junk;
  }
  EXPECT_EQ(metric(kBadIds), 5.0);
}

TEST_F(CacheSourcesTest, a_strategy_without_use_for_token_ids_does_not_read_them) {
  start(config_with(StrategyKind::kLeastLoad));
  EXPECT_EQ(post("/v1/chat/completions", kChat, {{kIdsField, "junk"}}).status, 200);
  EXPECT_EQ(metric(kBadIds), 0.0);
}

TEST_F(CacheSourcesTest, token_ids_have_a_limit_of_their_own) {
  config::Config config = config_with(StrategyKind::kPreciseCacheAware);
  config.server.max_head_bytes = 4096;
  config.server.max_token_ids_bytes = 100'000;
  start(std::move(config));
  std::string ids = "1";
  while (ids.size() < 90'000) {
    ids += ",123456";
  }
  EXPECT_EQ(post("/v1/chat/completions", kChat, {{kIdsField, ids}}).status, 200);
  EXPECT_EQ(post("/v1/chat/completions", kChat, {{kIdsField, ids + "," + ids}}).status, 431);
}

TEST_F(CacheSourcesTest, the_replica_whose_lmcache_has_room_is_preferred) {
  start_with_caches(R"({"occupancy": 0.95, "cache_available": true})",
                    R"({"occupancy": 0.10, "cache_available": true})");
  EXPECT_EQ(share_of_first(), 0);
}

TEST_F(CacheSourcesTest, an_lmcache_that_is_not_available_has_no_room) {
  start_with_caches(R"({"occupancy": 0.0, "cache_available": false})",
                    R"({"occupancy": 0.5, "cache_available": true})");
  EXPECT_EQ(share_of_first(), 0);
}

TEST_F(CacheSourcesTest, without_a_usable_answer_the_load_decides) {
  FaultyReplica broken;
  broken.set_page("no JSON");
  config::Config config = config_with(StrategyKind::kLmcacheAware);
  add_lmcache(config, 0, broken);
  start(std::move(config));
  const int share = share_of_first();
  EXPECT_GT(share, 0);
  EXPECT_LT(share, 20);
}

}  // namespace
}  // namespace rolter::runtime
