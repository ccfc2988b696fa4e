// Requests without token ids: what the gateway has learned of their blocks from the events of
// simulated engines, against what the engines report; and what it adds to a request for it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "tests/fakes/faulty_replica.h"
#include "tests/integration/balance/precise_fleet.h"

namespace rolter::runtime {
namespace {

using namespace std::chrono_literals;

class LearnedChainsEndToEndTest : public PreciseFleetTest {
 protected:
  struct Score {
    int requests = 0;
    int equal = 0;
    int near = 0;
    int high = 0;  // more than a block too many
    std::size_t cached_tokens = 0;
    std::string misses;  // for people

    void add(const Seen& seen) {
      const auto expected = static_cast<long>(seen.expected.value_or(0));
      const auto reported = static_cast<long>(seen.reported);
      ++requests;
      equal += expected == reported ? 1 : 0;
      near += std::abs(expected - reported) <= static_cast<long>(kBlockSize) ? 1 : 0;
      high += expected > reported + static_cast<long>(kBlockSize) ? 1 : 0;
      cached_tokens += seen.reported;
      if (std::abs(expected - reported) > static_cast<long>(kBlockSize)) {
        misses += fmt::format("request {} at {}: {} expected, {} reported\n", requests,
                              seen.provider, expected, reported);
      }
    }
    [[nodiscard]] double near_share() const { return static_cast<double>(near) / requests; }
    [[nodiscard]] double equal_share() const { return static_cast<double>(equal) / requests; }
  };

  LearnedChainsEndToEndTest() : LearnedChainsEndToEndTest(simulator::EngineOptions()) {}
  explicit LearnedChainsEndToEndTest(simulator::EngineOptions alike)
      : PreciseFleetTest(std::move(alike)) {
    with_ids_ = false;
  }

  /// Half of the streams say nothing of their usage: they teach, and cannot be compared.
  Score converse(int requests) {
    constexpr std::string_view kUsage = R"(,"stream_options":{"include_usage":true})";
    Score score;
    for (int i = 0; i < requests; ++i) {
      MixedRequest request = traffic_.next();
      const std::size_t at = request.body.find(kUsage);
      const bool silent = at != std::string::npos && i % 2 == 0;
      if (silent) {
        request.body.erase(at, kUsage.size());
      }
      const fakes::RawAnswer answer = ask(request);
      traffic_.answered(request, answer.body);
      if (silent) {
        EXPECT_EQ(answer.status, 200) << answer.body;
        continue;
      }
      const Seen one = seen(answer);
      score.add(one);
      await_told(one);
    }
    return score;
  }

  /// A gateway that has just started knows what the engines that run now have stored.
  void count_from_here() {
    for (std::size_t i = 0; i < kEngines; ++i) {
      stored_[i] = static_cast<std::size_t>(
          metric(fmt::format(R"(rolter_kv_events_total{{target="{}",kind="stored"}})", name(i))));
    }
  }

  static void expect_right(const Score& score) {
    EXPECT_GE(score.near_share(), 0.99) << score.misses;
    EXPECT_GE(score.equal_share(), 0.90);
  }
};

TEST_F(LearnedChainsEndToEndTest, plain_text_is_predicted_as_token_ids_are) {
  start_gateway();
  await_live();
  (void)converse(150);
  const Score score = converse(300);
  expect_right(score);
  EXPECT_GT(score.cached_tokens, 30'000U) << "hardly anything was found in a cache";
  EXPECT_GT(metric_of_all(R"(rolter_kv_events_total{{target="{}",kind="removed"}})"), 100.0)
      << "nothing had to leave a cache";
  EXPECT_EQ(metric(R"(rolter_learned_chains{kind="distrusted_routes"})"), 0.0);

  restart_busiest_engine();
  const Score after = converse(150);
  EXPECT_LE(after.high, 1) << after.misses;
  expect_right(after);

  gateway_.reset();
  start_gateway();
  await_live();
  count_from_here();
  (void)converse(100);
  expect_right(converse(200));
  expect_no_load();
}

TEST_F(LearnedChainsEndToEndTest, what_was_learned_outlives_the_gateway) {
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) /
                                     fmt::format("rolter-chains-{}", addresses_[0].port);
  save_path_ = file.string();
  start_gateway();
  await_live();
  (void)converse(200);
  gateway_.reset();
  start_gateway();
  await_live();
  count_from_here();
  EXPECT_GT(metric(R"(rolter_learned_chains{kind="prompts"})"), 50.0);
  const Score score = converse(200);
  expect_right(score);
  EXPECT_GT(score.cached_tokens, 20'000U) << "hardly anything was found in a cache";
  gateway_.reset();
  std::filesystem::remove(file);
}

/// Engines whose events name no session, as those of vLLM 0.20.
class UnnamedEventsTest : public LearnedChainsEndToEndTest {
 protected:
  UnnamedEventsTest() : LearnedChainsEndToEndTest(old_engine()) {}

  static simulator::EngineOptions old_engine() {
    simulator::EngineOptions options;
    options.kv_events.encoding = simulator::EventEncoding::kArray;
    return options;
  }
  [[nodiscard]] double learned(std::string_view kind) const {
    return metric(fmt::format(R"(rolter_learned_chain_events_total{{kind="{}"}})", kind));
  }
};

TEST_F(UnnamedEventsTest, the_engines_are_asked_for_tokens) {
  tokenize_per_second_ = 10'000;
  start_gateway();
  await_live();
  (void)converse(150);
  const Score score = converse(300);
  EXPECT_GE(score.near_share(), 0.95) << score.misses;
  EXPECT_GT(score.cached_tokens, 30'000U) << "hardly anything was found in a cache";
  EXPECT_GT(learned("tokenized"), 100.0);
  EXPECT_EQ(learned("not_tokenized"), 0.0);
  EXPECT_EQ(metric(R"(rolter_learned_chains{kind="distrusted_routes"})"), 0.0);
  expect_no_load();
}

TEST_F(UnnamedEventsTest, they_are_asked_no_more_often_than_allowed) {
  tokenize_per_second_ = 5;
  const TimePoint before = now();
  start_gateway();
  await_live();
  (void)converse(150);
  const std::chrono::duration<double> passed = now() - before;
  EXPECT_GE(learned("tokenized"), 1.0);
  EXPECT_LE(learned("tokenized"), 1.0 + passed.count() * 5.0);
  expect_no_load();
}

TEST_F(UnnamedEventsTest, tokenize_off_leaves_them_alone) {
  route_.tokenize_learn = false;
  start_gateway();
  await_live();
  (void)converse(100);
  EXPECT_EQ(learned("tokenized"), 0.0);
  EXPECT_EQ(learned("not_tokenized"), 0.0);
}

/// What a replica whose events are configured is sent.
class TagTest : public GatewayTest {
 protected:
  void start_with(bool tag_requests) {
    config::Config config = base_config();
    config::Route& route = add_route(config, "m");
    route.strategy = config::StrategyKind::kPreciseCacheAware;
    route.tag_requests = tag_requests;
    // Nobody listens there: the stream is configured, and connects to nothing.
    add_target(config, "one", replica_.port()).kv_events.emplace().endpoint = "tcp://127.0.0.1:9";
    start(std::move(config));
    await([this] { return metric(R"(rolter_kv_stream_state{target="one"})") > 0; });
  }
  /// As the replica saw it, without what is random.
  std::string sent(const FieldList& fields = {}) {
    FieldList all = fields;
    all.emplace_back("X-Request-Id", "r1");
    EXPECT_EQ(
        post("/v1/chat/completions",
             R"({"model":"m","session":"s","messages":[{"role":"user","content":"hi"}]})", all)
            .status,
        200);
    return replica_.last_request();
  }

  fakes::FaultyReplica replica_;
};

TEST_F(TagTest, the_session_id_is_the_only_difference_to_an_untagged_request) {
  start_with(false);
  const std::string plain = sent();
  EXPECT_EQ(plain.find("X-Session-ID"), std::string::npos);
  gateway_.reset();
  start_with(true);
  std::string tagged = sent();
  const std::size_t at = tagged.find("X-Session-ID: ");
  ASSERT_NE(at, std::string::npos) << tagged;
  const std::size_t end = tagged.find("\r\n", at);
  EXPECT_EQ(end - at, std::string_view("X-Session-ID: 0123456789abcdef").size());
  tagged.erase(at, end + 2 - at);
  EXPECT_EQ(tagged, plain);
}

TEST_F(TagTest, a_callers_own_session_id_passes_untouched_and_alone) {
  start_with(true);
  const std::string request = sent({{"x-session-id", "mine"}});
  EXPECT_NE(request.find("x-session-id: mine\r\n"), std::string::npos) << request;
  EXPECT_EQ(request.find("X-Session-ID"), std::string::npos) << request;
}

}  // namespace
}  // namespace rolter::runtime
