// What a gateway remembers of its replicas, when it does and when it must not.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/fakes/engine_thread.h"
#include "tests/integration/balance/gateway_fixture.h"

namespace rolter::runtime {
namespace {

using config::StrategyKind;
using fakes::EngineThread;
using fakes::RawAnswer;

class MemoryTest : public GatewayTest {
 protected:
  MemoryTest() {
    for (std::size_t i = 0; i < 2; ++i) {
      ports_.push_back(start_engine(0));
    }
  }

  /// On that port; 0: any.
  std::uint16_t start_engine(std::uint16_t port) {
    simulator::EngineOptions options;
    options.model = "m";
    options.port = port;
    options.speed = {0.0, 0.0};
    engines_.push_back(&thread_.start(options));
    thread_.run([&] { port = engines_.back()->port(); });
    return port;
  }

  config::Config two_targets(StrategyKind strategy = StrategyKind::kCacheAware) {
    config::Config config = base_config();
    add_route(config, "m").strategy = strategy;
    add_target(config, "first", ports_[0]);
    add_target(config, "second", ports_[1]);
    return config;
  }

  RawAnswer chat(const std::string& question) {
    return post("/v1/chat/completions",
                R"({"model":"m","max_tokens":4,"messages":[{"role":"user","content":")" + question +
                    R"("}]})");
  }

  [[nodiscard]] double index_nodes() const {
    return metric(R"(rolter_index_nodes{route="m",target="first/m"})") +
           metric(R"(rolter_index_nodes{route="m",target="second/m"})");
  }

  EngineThread thread_;
  std::vector<simulator::SimEngine*> engines_;
  std::vector<std::uint16_t> ports_;
};

/// Like no other from its first letter on: none is drawn to another's replica.
std::string question(int number) {
  return std::string(100, static_cast<char>('a' + number));
}

class IndexFileTest : public MemoryTest {
 protected:
  IndexFileTest()
      : directory_(std::filesystem::temp_directory_path() /
                   ("rolter-index-" + std::to_string(::getpid()))),
        file_(directory_ / "index") {
    std::filesystem::create_directories(directory_);
  }
  ~IndexFileTest() override { std::filesystem::remove_all(directory_); }

  void start_with_file() {
    config::Config config = two_targets();
    config.index.save_path = file_.string();
    start(std::move(config));
  }
  void stop() { gateway_.reset(); }

  std::filesystem::path directory_;
  std::filesystem::path file_;
};

TEST_F(IndexFileTest, conversations_find_their_replicas_after_a_restart) {
  start_with_file();
  std::vector<std::string> served;
  for (int i = 0; i < 10; ++i) {
    served.push_back(chat(question(i)).field("x-rolter-provider"));
  }
  const double nodes = index_nodes();
  EXPECT_GT(nodes, 0.0);
  stop();
  struct stat about{};
  ASSERT_EQ(::stat(file_.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600U);
  EXPECT_FALSE(std::filesystem::exists(file_.string() + ".new"));

  start_with_file();
  EXPECT_EQ(index_nodes(), nodes);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(chat(question(i)).field("x-rolter-provider"), served[i]);
  }
}

TEST_F(IndexFileTest, a_damaged_file_is_a_cold_start) {
  start_with_file();
  chat("a question");
  stop();
  std::filesystem::resize_file(file_, std::filesystem::file_size(file_) - 1);
  start_with_file();
  EXPECT_EQ(index_nodes(), 0.0);
  EXPECT_EQ(chat("a question").status, 200);
}

TEST_F(IndexFileTest, a_place_that_cannot_be_written_disturbs_nobody) {
  config::Config config = two_targets();
  config.index.save_path = "/nowhere/at/all";
  start(std::move(config));
  EXPECT_EQ(chat("a question").status, 200);
  stop();
}

TEST_F(MemoryTest, a_replica_whose_port_refused_is_forgotten_when_it_is_back) {
  start(two_targets());
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(chat(question(i)).status, 200);
  }
  const double second = metric(R"(rolter_index_nodes{route="m",target="second/m"})");
  EXPECT_GT(metric(R"(rolter_index_nodes{route="m",target="first/m"})"), 0.0);
  thread_.run([&] { engines_[0]->kill(); });
  thread_.await_closed(*engines_[0]);
  await([&] { return replica(0).refused_since().has_value(); });
  start_engine(ports_[0]);
  await([&] { return metric(R"(rolter_cache_losses_total{target="first"})") == 1.0; });
  EXPECT_EQ(metric(R"(rolter_index_nodes{route="m",target="first/m"})"), 0.0);
  EXPECT_EQ(metric(R"(rolter_index_nodes{route="m",target="second/m"})"), second);
}

TEST_F(MemoryTest, a_shadow_decides_beside_the_real_strategy_and_changes_nothing) {
  config::Config config = two_targets(StrategyKind::kRoundRobin);
  config.routes[0].shadow = {StrategyKind::kCacheAware, StrategyKind::kPredictedTtft};
  start(std::move(config));
  const std::string question = "the same question " + std::string(500, 'x');
  std::string last;
  for (int i = 0; i < 10; ++i) {
    const std::string provider = chat(question).field("x-rolter-provider");
    EXPECT_NE(provider, last) << "round robin as ever";
    last = provider;
  }
  const std::string of = R"({route="m",strategy="cache_aware"})";
  EXPECT_EQ(metric("rolter_shadow_requests_total" + of), 10.0);
  EXPECT_GE(metric("rolter_shadow_same_target_total" + of), 4.0);
  EXPECT_GT(metric("rolter_shadow_cached_tokens_total" + of), 0.0);
  EXPECT_LT(metric("rolter_shadow_cached_tokens_total" + of),
            metric("rolter_shadow_prompt_tokens_total" + of));
  EXPECT_EQ(metric(R"(rolter_shadow_requests_total{route="m",strategy="predicted_ttft"})"), 10.0);
}

}  // namespace
}  // namespace rolter::runtime
