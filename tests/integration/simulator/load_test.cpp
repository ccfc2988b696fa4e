// The demo's callers against one engine.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/ip/address_v4.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>

#include "rolter/simulator/load_run.h"
#include "tests/fakes/engine_thread.h"
#include "tests/fakes/http_responder.h"

namespace rolter::simulator {
namespace {

class SimulatorLoad : public ::testing::Test {
 protected:
  static EngineOptions options() {
    EngineOptions options;
    options.speed = EngineSpeed{0.0, 2000.0};
    return options;
  }
  SimulatorLoad() {
    thread_.run([this] {
      scope_ = std::make_unique<http::TaskScope>(
          thread_.loop(), [](std::string_view task, const std::exception& what) {
            ADD_FAILURE() << task << ": " << what.what();
          });
      run_ = std::make_unique<LoadRun>(
          thread_.loop(), *scope_,
          http::Endpoint(http::asio::ip::address_v4::loopback(), engine_.port()), "sim-model");
    });
  }
  ~SimulatorLoad() override {
    end([this] { run_->abort(); });
    thread_.run([this] {
      run_.reset();
      scope_.reset();
    });
  }
  /// Endless conversations; the workload lives as long as the callers.
  void start_users(const ChatShape& shape, std::size_t users, double think_s) {
    workload_ = std::make_unique<ChatWorkload>(shape, 1);
    thread_.run([&] { run_->start_users(*workload_, users, think_s, 1); });
  }
  /// Waits until the callers have ended.
  void end(const std::function<void()>& how) {
    std::promise<void> ended;
    thread_.run([&] {
      how();
      scope_->when_empty([&ended] { ended.set_value(); });
    });
    ended.get_future().wait();
  }
  LoadResult wait_for_requests(std::uint64_t count) {
    LoadResult result;
    while (result.requests < count && result.errors == 0) {
      thread_.run([&] { result = run_->result(); });
    }
    return result;
  }

  fakes::EngineThread thread_;
  SimEngine& engine_ = thread_.start(options());
  std::unique_ptr<ChatWorkload> workload_;
  std::unique_ptr<http::TaskScope> scope_;
  std::unique_ptr<LoadRun> run_;
};

TEST_F(SimulatorLoad, users_converse_and_their_later_turns_hit_the_cache) {
  start_users({2, 100, 20, 4, 10}, 4, 0.01);
  EXPECT_EQ(wait_for_requests(60).errors, 0U) << run_->result().last_failure;
  end([this] { run_->stop(); });
  const LoadResult& result = run_->result();
  EXPECT_EQ(result.in_flight, 0U);
  EXPECT_EQ(result.errors, 0U);
  EXPECT_EQ(result.first_token_s.size(), result.requests);
  const SchedulerStats stats = engine_.stats();
  EXPECT_GT(static_cast<double>(stats.hit_tokens), 0.7 * static_cast<double>(stats.prompt_tokens));
}

TEST_F(SimulatorLoad, a_trace_is_played_at_its_pace_and_hits_what_it_repeats) {
  std::vector<TraceChain> chains;
  for (std::uint32_t i = 0; i < 10; ++i) {
    TraceCall call;
    call.input_tokens = 2100;
    call.output_tokens = 64;
    call.blocks = {0, 1, 2, 3, 100 + i};
    chains.push_back({static_cast<double>(i), {call}});
  }
  const auto begun = std::chrono::steady_clock::now();
  thread_.run([&] { run_->start_trace(chains, 20.0); });
  wait_for_requests(10);
  EXPECT_GT(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(440));
  end([] {});
  EXPECT_EQ(engine_.stats().prompt_tokens, 10U * 65U);
  EXPECT_EQ(engine_.stats().hit_tokens, 9U * 64U);
  EXPECT_EQ(engine_.stats().generated_tokens, 10U * 2U);
}

TEST_F(SimulatorLoad, token_ids_that_come_along_are_those_the_engine_has) {
  const ChatShape shape{1, 10, 5, 1, 10};
  std::unique_ptr<fakes::HttpResponder> gateway;
  std::unique_ptr<LoadRun> run;
  thread_.run([&] {
    gateway = std::make_unique<fakes::HttpResponder>(
        thread_.loop().io(), [](const std::string&) { return std::optional<std::string>(); });
    run = std::make_unique<LoadRun>(thread_.loop(), *scope_, gateway->endpoint(), "sim-model");
    run->bring_token_ids();
    workload_ = std::make_unique<ChatWorkload>(shape, 1);
    run->start_users(*workload_, 1, 0.0, 1);
  });
  std::string head;
  while (head.empty()) {
    thread_.run([&] { head = gateway->heads().empty() ? "" : gateway->heads().front(); });
  }
  end([&] { run->abort(); });
  thread_.run([&] {
    run.reset();
    gateway.reset();
  });

  Rng rng(1);  // of the first user, who draws how many turns lie behind, then the turns
  (void)uniform_index(rng, shape.turns);
  const Turn system = workload_->system_turn(rng);
  const Turn question = workload_->question(rng);
  std::string wanted;
  for (const TokenId id : render_chat({system, question}, "", GenerationPrompt::kYes)) {
    wanted += (wanted.empty() ? "x-rolter-vllm-token-ids: " : ",") + std::to_string(id);
  }
  EXPECT_THAT(head, testing::HasSubstr(wanted + "\r\n"));
}

TEST_F(SimulatorLoad, a_gateway_that_breaks_is_an_error) {
  start_users({1, 10, 5, 4, 2000}, 1, 0.0);
  bool calling = false;
  while (!calling) {
    thread_.run([&] { calling = engine_.stats().running == 1; });
  }
  thread_.run([this] { engine_.kill(); });
  std::uint64_t errors = 0;
  while (errors == 0) {
    thread_.run([&] { errors = run_->result().errors; });
  }
}

TEST_F(SimulatorLoad, an_abort_ends_calls_that_are_under_way_and_counts_none) {
  start_users({1, 10, 5, 4, 2000}, 3, 0.0);
  std::size_t running = 0;
  while (running < 1) {
    thread_.run([&] { running = engine_.stats().running; });
  }
  end([this] { run_->abort(); });
  EXPECT_EQ(run_->result().requests + run_->result().errors, 0U);
}

}  // namespace
}  // namespace rolter::simulator
