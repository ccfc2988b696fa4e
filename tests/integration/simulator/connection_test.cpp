// What a gateway sees of a replica's connections and of its end (real-vLLM behaviour of 0.32).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>

#include "tests/fakes/engine_thread.h"
#include "tests/fakes/raw_client.h"

namespace rolter::simulator {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr char kPath[] = "/v1/completions";

std::string endless(bool stream) {
  return std::string(R"({"prompt":[5,6,7],"max_tokens":2000,"ignore_eos":true,"stream":)") +
         (stream ? "true}" : "false}");
}

class SimulatorConnection : public ::testing::Test {
 protected:
  /// 100 tokens per second of decode, 1,000 of prefill.
  static EngineOptions options() {
    EngineOptions options;
    options.model = "tiny-llama";
    options.limits.max_model_len = 4096;
    options.limits.blocks = 4096;
    options.speed = EngineSpeed{1000.0, 100.0};
    options.keep_alive = milliseconds(200);
    return options;
  }
  SimEngine& start(EngineOptions options) {
    SimEngine& engine = thread_.start(std::move(options));
    thread_.run([&] { port_ = engine.port(); });
    return engine;
  }

  std::size_t running(SimEngine& engine) {
    std::size_t running = 0;
    thread_.run([&] { running = engine.stats().running; });
    return running;
  }
  /// Whether the engine has let go of everything within a second.
  bool becomes_idle(SimEngine& engine) {
    const auto limit = std::chrono::steady_clock::now() + seconds(1);
    while (std::chrono::steady_clock::now() < limit) {
      if (running(engine) == 0) {
        return true;
      }
    }
    return false;
  }

  fakes::EngineThread thread_;
  std::uint16_t port_ = 0;
};

TEST_F(SimulatorConnection, keep_alive_ends_unannounced_after_an_answer_and_not_before_one) {
  start(options());
  fakes::RawClient client(port_);
  EXPECT_FALSE(client.closed_within(milliseconds(500))) << "nothing asked, nothing closed";
  client.send("GET /health HTTP/1.1\r\nHost: x\r\n\r\n");
  const fakes::RawAnswer answer = client.read_answer();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.field("connection"), "");
  EXPECT_EQ(answer.field("keep-alive"), "");
  EXPECT_TRUE(client.closed_within(seconds(2)));
}

TEST_F(SimulatorConnection, several_requests_share_a_connection) {
  start(options());
  fakes::RawClient client(port_);
  for (int i = 0; i < 3; ++i) {
    client.send_post(kPath, R"({"prompt":[5],"max_tokens":2})");
    EXPECT_EQ(client.read_answer().status, 200);
  }
}

TEST_F(SimulatorConnection, http_1_0_gets_no_chunks_and_a_close) {
  start(options());
  fakes::RawClient client(port_);
  client.send("GET /health HTTP/1.0\r\n\r\n");
  EXPECT_EQ(client.read_answer().field("connection"), "close");
  EXPECT_TRUE(client.closed_within(seconds(2)));
}

TEST_F(SimulatorConnection, the_head_of_a_stream_comes_before_prefill) {
  start(options());
  std::string prompt = "9";
  for (int i = 0; i < 999; ++i) {
    prompt += ",9";
  }
  fakes::RawClient client(port_);
  const auto sent = std::chrono::steady_clock::now();
  client.send_post(kPath, R"({"prompt":[)" + prompt + R"(],"max_tokens":2,"stream":true})");
  ASSERT_TRUE(client.read_until("\r\n\r\n"));
  const auto head = std::chrono::steady_clock::now() - sent;
  ASSERT_TRUE(client.read_until("data: "));
  const auto first = std::chrono::steady_clock::now() - sent;
  EXPECT_LT(head, milliseconds(700));
  EXPECT_GT(first, milliseconds(900));
}

TEST_F(SimulatorConnection, a_client_that_leaves_ends_its_generation) {
  SimEngine& engine = start(options());
  for (const bool stream : {true, false}) {
    fakes::RawClient client(port_);
    client.send_post(kPath, endless(stream));
    if (stream) {
      ASSERT_TRUE(client.read_until("data: "));
    }
    while (running(engine) == 0) {
    }
    client.close();
    EXPECT_TRUE(becomes_idle(engine)) << "stream " << stream;
  }
}

TEST_F(SimulatorConnection, a_half_close_is_an_abort_without_an_answer) {
  SimEngine& engine = start(options());
  fakes::RawClient client(port_);
  client.send_post(kPath, endless(false));
  while (running(engine) == 0) {
  }
  client.half_close();
  EXPECT_TRUE(client.closed_within(seconds(2)));
  EXPECT_TRUE(becomes_idle(engine));
}

TEST_F(SimulatorConnection, a_full_queue_is_503_without_retry_after) {
  EngineOptions two = options();
  two.max_queued = 2;
  start(two);
  fakes::RawClient first(port_);
  fakes::RawClient second(port_);
  first.send_post(kPath, endless(true));
  second.send_post(kPath, endless(true));
  ASSERT_TRUE(first.read_until("data: "));
  ASSERT_TRUE(second.read_until("data: "));
  const fakes::RawAnswer refused =
      fakes::post_json(port_, kPath, R"({"prompt":[5],"stream":true})");
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.field("retry-after"), "");
  EXPECT_THAT(refused.body, HasSubstr(R"("type":"Service Unavailable")"));
  EXPECT_EQ(fakes::get(port_, "/health").status, 200);
  EXPECT_THAT(fakes::get(port_, "/metrics").body, HasSubstr("reason=\"max_num_queued_reqs\"} 1\n"));
}

TEST_F(SimulatorConnection, draining_finishes_what_runs_and_answers_abort_to_what_comes) {
  SimEngine& engine = start(options());
  fakes::RawClient running_call(port_);
  running_call.send_post(kPath,
                         R"({"prompt":[5],"max_tokens":50,"ignore_eos":true,"stream":true})");
  ASSERT_TRUE(running_call.read_until("data: "));
  thread_.run([&] { engine.drain(seconds(20)); });
  EXPECT_EQ(fakes::get(port_, "/health").status, 200);
  const fakes::RawAnswer aborted = fakes::post_json(port_, kPath, R"({"prompt":[5]})");
  EXPECT_EQ(aborted.status, 200);
  EXPECT_THAT(aborted.body, HasSubstr(R"("text":"","logprobs":null,"finish_reason":"abort")"));
  const fakes::RawAnswer streamed =
      fakes::post_json(port_, "/v1/chat/completions",
                       R"({"messages":[{"role":"user","content":"x"}],"stream":true})");
  EXPECT_THAT(streamed.body, HasSubstr(R"("finish_reason":"abort")"));
  EXPECT_TRUE(streamed.complete);
  const fakes::RawAnswer finished = running_call.read_answer();
  EXPECT_TRUE(finished.complete);
  EXPECT_EQ(finished.events().back(), "[DONE]");
  thread_.await_closed(engine);
  EXPECT_FALSE(fakes::RawClient(port_).connected());
}

TEST_F(SimulatorConnection, without_a_drain_open_answers_hang_and_the_port_refuses) {
  SimEngine& engine = start(options());
  fakes::RawClient open_call(port_);
  open_call.send_post(kPath, endless(true));
  ASSERT_TRUE(open_call.read_until("data: "));
  thread_.run([&] { engine.hang(); });
  EXPECT_FALSE(fakes::RawClient(port_).connected());
  // What had been sent before is still there; then there is neither data nor an end.
  while (!open_call.closed_within(milliseconds(300)) && open_call.received().size() < 10) {
  }
  EXPECT_FALSE(open_call.closed_within(milliseconds(300)));
  open_call.close();
  thread_.await_closed(engine);
}

TEST_F(SimulatorConnection, a_dead_core_ends_streams_with_an_error_event) {
  SimEngine& engine = start(options());
  fakes::RawClient stream(port_);
  fakes::RawClient whole(port_);
  stream.send_post(kPath, endless(true));
  whole.send_post(kPath, endless(false));
  ASSERT_TRUE(stream.read_until("data: "));
  while (running(engine) < 2) {
  }
  thread_.run([&] { engine.core_dies(); });
  EXPECT_EQ(fakes::get(port_, "/health").status, 503);
  const fakes::RawAnswer broken = stream.read_answer();
  ASSERT_GE(broken.events().size(), 2U);
  EXPECT_THAT(broken.events()[broken.events().size() - 2], HasSubstr("InternalServerError"));
  EXPECT_EQ(broken.events().back(), "[DONE]");
  EXPECT_EQ(whole.read_answer().status, 500);
  thread_.await_closed(engine);
}

TEST_F(SimulatorConnection, a_kill_breaks_streams_and_a_restart_takes_the_port_again) {
  SimEngine& engine = start(options());
  fakes::RawClient stream(port_);
  stream.send_post(kPath, endless(true));
  ASSERT_TRUE(stream.read_until("data: "));
  thread_.run([&] { engine.kill(); });
  EXPECT_FALSE(stream.read_answer().complete);
  thread_.await_closed(engine);
  EngineOptions again = options();
  again.port = port_;
  start(again);
  EXPECT_EQ(fakes::get(port_, "/health").status, 200);
}

TEST_F(SimulatorConnection, ranks_are_chosen_by_header) {
  EngineOptions two = options();
  two.dp_size = 2;
  SimEngine& engine = start(two);
  const auto ask = [this](const char* rank) {
    return fakes::post_json(port_, kPath, R"({"prompt":[5],"max_tokens":1})",
                            {{"X-data-parallel-rank", rank}});
  };
  EXPECT_EQ(ask("1").status, 200);
  EXPECT_EQ(ask("7").status, 400);
  EXPECT_THAT(fakes::get(port_, "/metrics").body,
              HasSubstr("vllm:prompt_tokens_total{engine=\"1\",model_name=\"tiny-llama\"} 1\n"));
  EXPECT_EQ(running(engine), 0U);
}

TEST_F(SimulatorConnection, many_engines_share_a_loop) {
  std::vector<std::uint16_t> ports;
  for (int i = 0; i < 5; ++i) {
    start(options());
    ports.push_back(port_);
  }
  std::vector<std::future<int>> answers;
  for (const std::uint16_t port : ports) {
    answers.push_back(std::async(std::launch::async, [port] {
      return fakes::post_json(port, kPath, R"({"prompt":[5],"max_tokens":10})").status;
    }));
  }
  for (auto& answer : answers) {
    EXPECT_EQ(answer.get(), 200);
  }
}

}  // namespace
}  // namespace rolter::simulator
