// The event feed against simulated engines: what the index promises for a prompt is what the engine
// then reports as cached.
#include <algorithm>
#include <charconv>

#include "tests/fakes/engine_thread.h"
#include "tests/fakes/raw_client.h"
#include "tests/integration/feeds/kv_feed_fixture.h"

namespace rolter::feeds {
namespace {

using kvcache::StreamState;
using simulator::EngineOptions;
using simulator::SimEngine;

constexpr std::uint32_t kBlockSize = 4;

std::uint16_t port_of(const std::string& endpoint) {
  std::uint16_t port = 0;
  std::from_chars(endpoint.data() + endpoint.rfind(':') + 1, endpoint.data() + endpoint.size(),
                  port);
  return port;
}

std::vector<TokenId> prompt_of(TokenId salt, std::size_t tokens) {
  std::vector<TokenId> ids(tokens, 7);
  ids.front() = salt;
  return ids;
}

class KvEngines : public KvFeedTest {
 protected:
  static EngineOptions options() {
    EngineOptions options;
    options.speed = {.prefill_tps = 0.0, .decode_tps = 0.0};
    options.limits.block_size = kBlockSize;
    options.kv_events.endpoint = "tcp://127.0.0.1:0";
    options.kv_events.replay_endpoint = "tcp://127.0.0.1:0";
    return options;
  }

  SimEngine& start(const EngineOptions& options) {
    SimEngine& engine = engines_.start(options);
    engines_.run([&] {
      port_ = engine.port();
      endpoints_.clear();
      for (std::uint32_t rank = 0; rank < options.dp_size; ++rank) {
        endpoints_.emplace_back(engine.kv_endpoint(rank), engine.kv_replay_endpoint(rank));
      }
    });
    return engine;
  }

  std::vector<KvSource> sources() {
    std::vector<KvSource> all;
    for (const auto& [events, replay] : endpoints_) {
      KvSource& source = all.emplace_back(source_at(port_of(events), port_of(replay)));
      source.rank = static_cast<std::uint32_t>(all.size() - 1);
    }
    return all;
  }

  /// Asks for one token; returns what was cached.
  std::uint32_t ask(const std::vector<TokenId>& prompt, const std::string& rank = "0") {
    std::string ids;
    for (const TokenId id : prompt) {
      ids += (ids.empty() ? "" : ",") + std::to_string(id);
    }
    const auto answer =
        fakes::post_json(port_, "/v1/completions", R"({"prompt":[)" + ids + R"(],"max_tokens":1})",
                         {{"X-data-parallel-rank", rank}});
    EXPECT_EQ(answer.status, 200) << answer.body;
    const std::string key = R"("cached_tokens":)";
    const std::size_t at = answer.body.find(key);
    std::uint32_t cached = 0;
    if (at != std::string::npos) {
      std::from_chars(answer.body.data() + at + key.size(), answer.body.data() + answer.body.size(),
                      cached);
    }
    return cached;
  }

  std::uint32_t predicted(const std::vector<TokenId>& prompt) {
    const auto most = static_cast<std::uint32_t>((prompt.size() - 1) / kBlockSize);
    return std::min(resident(prompt, kBlockSize), most) * kBlockSize;
  }

  fakes::EngineThread engines_;
  std::uint16_t port_ = 0;
  std::vector<std::pair<std::string, std::string>> endpoints_;
};

struct WireFormat {
  simulator::EventEncoding encoding;
  simulator::HashEncoding hashes;
  simulator::ReplayFrames frames;
};

class KvEngineFormats : public KvEngines, public ::testing::WithParamInterface<WireFormat> {};

TEST_P(KvEngineFormats, predicts_what_the_engine_reports_as_cached) {
  EngineOptions small = options();
  small.limits.blocks = 40;  // so that it evicts
  small.kv_events.encoding = GetParam().encoding;
  small.kv_events.hashes = GetParam().hashes;
  small.kv_events.replay_frames = GetParam().frames;
  start(small);
  for (TokenId salt = 1; salt <= 6; ++salt) {
    ask(prompt_of(salt, 30));
  }
  follow(sources());  // late: the beginning comes by replay
  await_state(StreamState::kLive);
  std::uint64_t batches = 6;
  for (TokenId salt = 1; salt <= 30; ++salt) {
    const auto prompt = prompt_of(1 + salt % 11, 20 + salt % 13);
    await_batches(batches);
    const std::uint32_t expected = predicted(prompt);
    EXPECT_EQ(ask(prompt), expected) << "prompt " << salt;
    const std::uint32_t full = static_cast<std::uint32_t>(prompt.size()) / kBlockSize * kBlockSize;
    batches += expected < full ? 1 : 0;  // something new was stored
  }
  await_batches(batches);
  EXPECT_EQ(status().block_counters.unknown_removals, 0U);
  EXPECT_LE(status().blocks, 39U);
  EXPECT_LT(status().lag_seconds, 10.0);
}

INSTANTIATE_TEST_SUITE_P(
    Wire, KvEngineFormats,
    ::testing::Values(WireFormat{simulator::EventEncoding::kMap, simulator::HashEncoding::kInteger,
                                 simulator::ReplayFrames::kWithTopic},
                      WireFormat{simulator::EventEncoding::kMap, simulator::HashEncoding::kBytes,
                                 simulator::ReplayFrames::kWithTopic},
                      WireFormat{simulator::EventEncoding::kArray,
                                 simulator::HashEncoding::kInteger,
                                 simulator::ReplayFrames::kWithoutTopic}));

TEST_F(KvEngines, an_engine_restarted_on_its_ports_is_followed_from_its_new_start) {
  SimEngine& engine = start(options());
  const std::uint16_t port = port_;
  ask(prompt_of(1, 20));
  ask(prompt_of(2, 20));
  follow(sources());
  await_batches(2);
  engines_.run([&] { engine.kill(); });
  engines_.await_closed(engine);
  EngineOptions again = options();
  again.port = port;
  again.kv_events.endpoint = endpoints_[0].first;
  again.kv_events.replay_endpoint = endpoints_[0].second;
  start(again);
  ask(prompt_of(1, 20));
  await([&] { return status().batches.restarts == 1; }, "the restart");
  await_batches(3);
  EXPECT_EQ(resident(prompt_of(1, 20), kBlockSize), 5U);
  EXPECT_EQ(resident(prompt_of(2, 20), kBlockSize), 0U);
}

TEST_F(KvEngines, a_long_history_is_replayed_while_the_engine_goes_on) {
  start(options());
  fakes::RawClient client(port_);
  for (int i = 0; i < 20; ++i) {  // 100 decoded blocks each, every one a batch of its own
    client.send_post("/v1/completions", R"({"prompt":[)" + std::to_string(i) +
                                            R"(,1],"max_tokens":401,"ignore_eos":true})");
    ASSERT_EQ(client.read_answer().status, 200);
    if (i == 10) {
      follow(sources());
    }
  }
  await_batches(2000);
  EXPECT_EQ(status().blocks, 2000U);
  EXPECT_EQ(status().batches.holes, 0U);
}

TEST_F(KvEngines, every_rank_has_its_own_blocks) {
  EngineOptions two = options();
  two.dp_size = 2;
  start(two);
  follow(sources());
  await_state(StreamState::kLive, 0);
  await_state(StreamState::kLive, 1);
  ask(prompt_of(1, 20), "1");
  await_batches(1, 1);
  EXPECT_EQ(status(0).blocks, 0U);
  EXPECT_EQ(status(1).blocks, 5U);
}

}  // namespace
}  // namespace rolter::feeds
