// `rolter check --live` against simulated engines.
#include "rolter/cli/live_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/fakes/engine_thread.h"

namespace rolter::cli {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class LiveCheck : public ::testing::Test {
 protected:
  static simulator::EngineOptions options() {
    simulator::EngineOptions options;
    options.speed = simulator::EngineSpeed{0.0, 2000.0};
    return options;
  }
  static config::Config config_for(std::uint16_t port) {
    config::Config config;
    config::Provider& provider = config.providers.emplace_back();
    provider.name = "a";
    provider.api_base.host = "127.0.0.1";
    provider.api_base.port = port;
    config::Route& route = config.routes.emplace_back();
    route.model = "chat";
    route.targets.push_back({.provider = 0, .model = "sim-model"});
    return config;
  }
  ReplicaReport check(const config::Config& config) { return check_replicas(config, http_).at(0); }

  fakes::EngineThread thread_;
  HttpTool http_;
};

TEST_F(LiveCheck, a_sound_replica_has_no_findings) {
  const ReplicaReport report = check(config_for(thread_.start(options()).port()));
  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_EQ(report.state, "up");
  EXPECT_THAT(report.engine, HasSubstr("vllm "));
  EXPECT_EQ(report.prefix_caching, "on");
  EXPECT_EQ(report.block_size, "16");
  EXPECT_EQ(report.cached_tokens, "told");
  EXPECT_EQ(report.kv_events, "off");
  EXPECT_THAT(live_text({report}), HasSubstr("no findings"));
}

TEST_F(LiveCheck, nobody_there_is_the_only_finding) {
  simulator::SimEngine& engine = thread_.start(options());
  const config::Config config = config_for(engine.port());
  thread_.run([&] { engine.kill(); });
  thread_.await_closed(engine);
  const ReplicaReport report = check(config);
  EXPECT_THAT(report.findings, ElementsAre(HasSubstr("cannot be reached at http://127.0.0.1:")));
  EXPECT_THAT(live_json({report}), HasSubstr(R"("findings":["it cannot be reached)"));
}

TEST_F(LiveCheck, names_the_models_it_serves_instead) {
  config::Config config = config_for(thread_.start(options()).port());
  config.routes[0].targets[0].model = "other";
  EXPECT_THAT(check(config).findings,
              Contains(HasSubstr("does not serve \"other\" but \"sim-model\"")));
}

TEST_F(LiveCheck, says_when_cached_tokens_are_not_told) {
  simulator::EngineOptions silent = options();
  silent.prompt_tokens_details = false;
  const ReplicaReport report = check(config_for(thread_.start(silent).port()));
  EXPECT_EQ(report.cached_tokens, "not told");
  EXPECT_THAT(report.findings, ElementsAre(HasSubstr("--enable-prompt-tokens-details")));
}

TEST_F(LiveCheck, compares_kv_events_with_what_is_published) {
  config::Config without = config_for(thread_.start(options()).port());
  without.providers[0].kv_events.emplace().endpoint = "tcp://127.0.0.1:5557";
  EXPECT_THAT(check(without).findings, Contains(HasSubstr("--kv-events-config")));
  simulator::EngineOptions publishing = options();
  publishing.kv_events.endpoint = "tcp://127.0.0.1:0";
  publishing.kv_events.topic = "kv";
  config::Config with = config_for(thread_.start(publishing).port());
  config::KvEvents& events = with.providers[0].kv_events.emplace();
  events.endpoint = "tcp://127.0.0.1:1";
  events.topic = "other";
  EXPECT_THAT(check(with).findings,
              ElementsAre(HasSubstr("set kv_events.endpoint"), HasSubstr("set kv_events.topic"),
                          HasSubstr("without replay")));
}

}  // namespace
}  // namespace rolter::cli
