// The configurations that people begin with, as they write them, in front of simulated engines.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rolter/config/load.h"
#include "rolter/config/url.h"
#include "rolter/simulator/chat_template.h"
#include "tests/fakes/engine_thread.h"
#include "tests/fakes/faulty_replica.h"
#include "tests/integration/balance/gateway_fixture.h"

namespace rolter::runtime {
namespace {

constexpr std::string_view kModel = "meta-llama/Llama-3.1-8B-Instruct";

class ConfigurationTest : public GatewayTest {
 protected:
  ConfigurationTest() {
    for (int i = 0; i < 2; ++i) {
      simulator::EngineOptions options;
      options.model = kModel;
      options.speed = {0.0, 0.0};
      options.kv_events.endpoint = "tcp://127.0.0.1:0";
      options.kv_events.replay_endpoint = "tcp://127.0.0.1:0";
      options.kv_events.topic = "kv-events";
      simulator::SimEngine& engine = engines_.start(options);
      engines_.run([&] {
        ports_.push_back(engine.port());
        events_.push_back(engine.kv_endpoint());
      });
    }
  }

  /// What follows a provider's name and address is `more`.
  [[nodiscard]] std::string provider(std::size_t i, const std::string& more = "") const {
    return fmt::format(
        "[[providers]]\nname = \"vllm-{}\"\nkind = \"openai_compatible\"\n"
        "api_base = \"http://localhost:{}\"\n{}\n",
        i + 1, ports_[i], more);
  }

  /// Without a complaint of any kind.
  void start_from(const std::string& toml) {
    config::LoadResult loaded = config::load_config(
        toml, "rolter.toml", [](const std::string&) { return std::optional<std::string>(); });
    for (const config::Finding& finding : loaded.findings) {
      ADD_FAILURE() << config::format_finding("rolter.toml", finding);
    }
    ASSERT_TRUE(loaded.config);
    const config::Config quiet = base_config();
    loaded.config->server = quiet.server;
    loaded.config->log = quiet.log;
    start(std::move(*loaded.config));
  }

  fakes::RawAnswer chat(const std::string& model, const std::string& messages,
                        const FieldList& fields = {}) {
    fakes::RawAnswer answer = post(
        "/v1/chat/completions",
        fmt::format(R"({{"model":"{}","max_tokens":4,"messages":[{}]}})", model, messages), fields);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return answer;
  }

  /// Past the gateway, as another one would.
  void chat_with_second(const std::string& messages) {
    EXPECT_EQ(fakes::post_json(ports_[1], "/v1/chat/completions",
                               fmt::format(R"({{"model":"{}","max_tokens":1,"messages":[{}]}})",
                                           kModel, messages))
                  .status,
              200);
  }

  static std::string turn(std::string_view role, std::string_view text) {
    return fmt::format(R"({{"role":"{}","content":"{}"}})", role, text);
  }

  fakes::EngineThread engines_;
  std::vector<std::uint16_t> ports_;
  std::vector<std::string> events_;
};

constexpr std::string_view kTargets = R"(
[[routes.targets]]
provider = "vllm-1"
model = "meta-llama/Llama-3.1-8B-Instruct"
{}
[[routes.targets]]
provider = "vllm-2"
model = "meta-llama/Llama-3.1-8B-Instruct"
{}
)";

std::string route(std::string_view model, std::string_view strategy, std::string_view first = "",
                  std::string_view second = "") {
  return fmt::format("[[routes]]\nmodel = \"{}\"\nstrategy = \"{}\"\n", model, strategy) +
         fmt::format(fmt::runtime(kTargets), first, second);
}

TEST_F(ConfigurationTest, cache_aware_keeps_a_conversation_on_its_replica) {
  start_from(provider(0) + provider(1) + route("llama", "cache_aware"));
  for (int conversation = 0; conversation < 6; ++conversation) {
    std::string messages = turn("user", fmt::format("{}: tell me a story about the number {}",
                                                    conversation, conversation * 1234));
    const std::string home = chat("llama", messages).field("x-rolter-provider");
    for (int i = 0; i < 3; ++i) {
      messages += "," + turn("assistant", "once upon a time") + "," + turn("user", "go on");
      EXPECT_EQ(chat("llama", messages).field("x-rolter-provider"), home);
    }
  }
  expect_no_load();
}

TEST_F(ConfigurationTest, pipeline_favours_weight_and_pins_sessions) {
  start_from(provider(0) + provider(1) +
             route("llama-pipeline", "pipeline", "weight = 2", "weight = 1"));
  for (int i = 0; i < 6; ++i) {
    const std::string text = fmt::format("{} is a question by itself", i);
    EXPECT_EQ(chat("llama-pipeline", turn("user", text)).field("x-rolter-provider"), "vllm-1");
  }
  replica(0).set_drained(true, now());
  EXPECT_EQ(
      chat("llama-pipeline", turn("user", "x"), {{"x-session-id", "s"}}).field("x-rolter-provider"),
      "vllm-2");
  replica(0).set_drained(false, now());
  EXPECT_EQ(
      chat("llama-pipeline", turn("user", "y"), {{"x-session-id", "s"}}).field("x-rolter-provider"),
      "vllm-2");
  expect_no_load();
}

TEST_F(ConfigurationTest, precise_cache_aware_sends_a_prompt_to_the_engine_that_holds_it) {
  const auto kv_events = [this](std::size_t i) {
    return fmt::format(
        "[providers.kv_events]\nendpoint = \"tcp://localhost:{}\"\n"
        "topic = \"kv-events\"\n",
        config::parse_tcp_endpoint(events_[i]).value().port);
  };
  start_from(provider(0, kv_events(0)) + provider(1, kv_events(1)) +
             route("llama", "precise_cache_aware"));
  // Without a replay endpoint only what comes after the subscription is known.
  const auto blocks = [this] { return metric(R"(rolter_kv_blocks{target="vllm-2"})"); };
  int prompts = 0;
  await([&] {
    chat_with_second(turn("user", fmt::format("{} is nothing to remember for long", ++prompts)));
    return blocks() > 0;
  });
  const simulator::Turn rules{"system", std::string(200, 'r')};
  const double before = blocks();
  chat_with_second(turn(rules.role, rules.text) + "," + turn("user", "hello"));
  await([&] { return blocks() >= before + 4; });
  for (int i = 0; i < 6; ++i) {
    const simulator::Turn question{"user", fmt::format("question {}", i)};
    const auto ids =
        simulator::render_chat({rules, question}, "", simulator::GenerationPrompt::kYes);
    EXPECT_EQ(chat("llama", turn(rules.role, rules.text) + "," + turn("user", question.text),
                   {{"x-rolter-vllm-token-ids", fmt::format("{}", fmt::join(ids, ","))}})
                  .field("x-rolter-provider"),
              "vllm-2");
  }
  EXPECT_EQ(metric(R"(rolter_decisions_total{route="llama",reason="resident"})"), 6.0);
  EXPECT_EQ(chat("llama", turn("user", "no ids")).status, 200);
  EXPECT_EQ(metric(R"(rolter_decisions_total{route="llama",reason="no_credit"})"), 1.0);
  expect_no_load();
}

TEST_F(ConfigurationTest, lmcache_aware_prefers_the_replica_with_room) {
  fakes::FaultyReplica full;
  fakes::FaultyReplica empty;
  full.set_page(R"({"occupancy": 0.9, "cache_available": true})");
  empty.set_page(R"({"occupancy": 0.1, "cache_available": true})");
  const auto lmcache = [](const fakes::FaultyReplica& server) {
    return fmt::format("[providers.lmcache]\nendpoint = \"http://localhost:{}/status\"\n",
                       server.port());
  };
  start_from(provider(0, lmcache(full)) + provider(1, lmcache(empty)) +
             route("llama", "lmcache_aware"));
  await([this] { return replica(0).lmcache(now()) && replica(1).lmcache(now()); });
  for (int i = 0; i < 6; ++i) {
    const std::string text = fmt::format("{} is a question by itself", i);
    EXPECT_EQ(chat("llama", turn("user", text)).field("x-rolter-provider"), "vllm-2");
  }
  expect_no_load();
}

}  // namespace
}  // namespace rolter::runtime
