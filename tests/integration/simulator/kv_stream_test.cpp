// KV events over ZMQ: live, replayed, in both shapes, per rank, across restarts.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>
#include <zmq.hpp>

#include "tests/fakes/engine_thread.h"
#include "tests/fakes/raw_client.h"

namespace rolter::simulator {
namespace {

using Message = std::vector<std::string>;

constexpr std::chrono::milliseconds kPatience{5000};

std::uint64_t sequence(const std::string& frame) {
  std::uint64_t value = 0;
  for (const char byte : frame) {
    value = (value << 8U) | static_cast<unsigned char>(byte);
  }
  return value;
}

std::string big_endian(std::uint64_t value) {
  std::string bytes(8, '\0');
  for (int i = 7; i >= 0; --i) {
    bytes[static_cast<std::size_t>(i)] = static_cast<char>(value & 0xFFU);
    value >>= 8U;
  }
  return bytes;
}

/// Empty when nothing came in time.
Message receive(zmq::socket_t& socket) {
  Message message;
  zmq::message_t part;
  while (socket.recv(part)) {
    message.push_back(part.to_string());
    if (!part.more()) {
      break;
    }
  }
  return message;
}

class SimulatorKvStream : public ::testing::Test {
 protected:
  static EngineOptions options() {
    EngineOptions options;
    options.speed = EngineSpeed{0.0, 0.0};
    options.limits.block_size = 4;
    options.kv_events.endpoint = "tcp://127.0.0.1:0";
    options.kv_events.replay_endpoint = "tcp://127.0.0.1:0";
    options.kv_events.topic = "kv@sim";
    return options;
  }
  SimEngine& start(const EngineOptions& options) {
    SimEngine& engine = thread_.start(options);
    thread_.run([&] {
      port_ = engine.port();
      endpoint_ = engine.kv_endpoint();
      replay_ = engine.kv_replay_endpoint();
    });
    return engine;
  }
  zmq::socket_t connect(zmq::socket_type type, const std::string& endpoint) {
    zmq::socket_t socket(context_, type);
    socket.set(zmq::sockopt::linger, 0);
    socket.set(zmq::sockopt::rcvtimeo, static_cast<int>(kPatience.count()));
    if (type == zmq::socket_type::sub) {
      socket.set(zmq::sockopt::subscribe, "");
    }
    socket.connect(endpoint);
    return socket;
  }
  /// A prompt of `blocks` full blocks that no other `salt` has, and one token.
  void ask(int salt, int blocks, const std::string& more = "") {
    std::string ids = std::to_string(salt);
    for (int i = 0; i < 4 * blocks; ++i) {
      ids += ",7";
    }
    ASSERT_EQ(fakes::post_json(port_, "/v1/completions",
                               R"({"prompt":[)" + ids + R"(],"max_tokens":1)" + more + "}")
                  .status,
              200);
  }
  /// A new subscriber misses what is published before its subscription has arrived.
  void ask_until_heard(zmq::socket_t& subscriber) {
    subscriber.set(zmq::sockopt::rcvtimeo, 50);
    for (int salt = 1000; receive(subscriber).empty(); ++salt) {
      ask(salt, 1);
    }
    subscriber.set(zmq::sockopt::rcvtimeo, static_cast<int>(kPatience.count()));
  }
  std::vector<Message> replay(const Message& request) {
    zmq::socket_t dealer = connect(zmq::socket_type::dealer, replay_);
    for (std::size_t i = 0; i < request.size(); ++i) {
      dealer.send(zmq::buffer(request[i]),
                  i + 1 < request.size() ? zmq::send_flags::sndmore : zmq::send_flags::none);
    }
    std::vector<Message> answers;
    do {
      answers.push_back(receive(dealer));
    } while (!answers.back().empty() && !answers.back().back().empty());
    return answers;
  }

  zmq::context_t context_;
  fakes::EngineThread thread_;
  std::uint16_t port_ = 0;
  std::string endpoint_;
  std::string replay_;
};

TEST_F(SimulatorKvStream, messages_have_topic_sequence_and_payload) {
  start(options());
  zmq::socket_t subscriber = connect(zmq::socket_type::sub, endpoint_);
  ask_until_heard(subscriber);
  ask(1, 2);
  const Message first = receive(subscriber);
  ask(2, 2);
  const Message second = receive(subscriber);
  ASSERT_EQ(first.size(), 3U);
  ASSERT_EQ(second.size(), 3U);
  EXPECT_EQ(first[0], "kv@sim");
  EXPECT_EQ(sequence(second[1]), sequence(first[1]) + 1);
  EXPECT_NE(first[2].find("BlockStored"), std::string::npos);
}

TEST_F(SimulatorKvStream, a_replay_has_what_was_missed_and_an_end_marker) {
  start(options());
  for (int salt = 0; salt < 5; ++salt) {
    ask(salt, 1);
  }
  const std::vector<Message> answers = replay({"", big_endian(2)});
  ASSERT_EQ(answers.size(), 4U);
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_EQ(answers[i].size(), 4U);
    EXPECT_EQ(answers[i][1], "kv@sim");
    EXPECT_EQ(sequence(answers[i][2]), i + 2);
  }
  EXPECT_EQ(answers[3], (Message{"", "", std::string(8, '\xFF'), ""}));
  EXPECT_EQ(replay({"", big_endian(5)}).size(), 1U) << "past the newest: only the marker";
}

TEST_F(SimulatorKvStream, an_old_engine_replays_without_topic_and_in_arrays) {
  EngineOptions old = options();
  old.kv_events.encoding = EventEncoding::kArray;
  old.kv_events.replay_frames = ReplayFrames::kWithoutTopic;
  start(old);
  ask(1, 1);
  const std::vector<Message> answers = replay({"", big_endian(0)});
  ASSERT_EQ(answers.size(), 2U);
  ASSERT_EQ(answers[0].size(), 3U);
  EXPECT_EQ(sequence(answers[0][1]), 0U);
  EXPECT_NE(answers[0][2].find("\x9a\xab"
                               "BlockStored"),
            std::string::npos);
  EXPECT_EQ(answers[1], (Message{"", std::string(8, '\xFF'), ""}));
}

TEST_F(SimulatorKvStream, a_request_without_delimiter_has_no_answer_and_harms_nobody) {
  start(options());
  ask(1, 1);
  zmq::socket_t dealer = connect(zmq::socket_type::dealer, replay_);
  dealer.set(zmq::sockopt::rcvtimeo, 200);
  dealer.send(zmq::str_buffer("12345678"), zmq::send_flags::none);
  EXPECT_TRUE(receive(dealer).empty());
  EXPECT_EQ(replay({"", big_endian(0)}).size(), 2U);
}

TEST_F(SimulatorKvStream, a_replay_of_the_whole_buffer_is_complete_for_a_reader_that_reads) {
  EngineOptions small = options();
  small.kv_events.buffer_steps = 3000;
  start(small);
  fakes::RawClient client(port_);
  for (int i = 0; i < 40; ++i) {  // 100 decoded blocks each, every one a batch of its own
    client.send_post("/v1/completions", R"({"prompt":[)" + std::to_string(i) +
                                            R"(,1],"max_tokens":400,"ignore_eos":true})");
    ASSERT_EQ(client.read_answer().status, 200);
  }
  const std::vector<Message> answers = replay({"", big_endian(0)});
  ASSERT_EQ(answers.size(), 3001U);
  EXPECT_GT(sequence(answers[0][2]), 0U) << "the oldest have left the buffer, silently";
  for (std::size_t i = 1; i < 3000; ++i) {
    ASSERT_EQ(sequence(answers[i][2]), sequence(answers[i - 1][2]) + 1);
  }
}

TEST_F(SimulatorKvStream, a_clear_comes_with_the_next_batch) {
  start(options());
  zmq::socket_t subscriber = connect(zmq::socket_type::sub, endpoint_);
  ask_until_heard(subscriber);
  EXPECT_EQ(fakes::post_json(port_, "/reset_prefix_cache", "").body, R"({"success":true})");
  subscriber.set(zmq::sockopt::rcvtimeo, 300);
  EXPECT_TRUE(receive(subscriber).empty());
  subscriber.set(zmq::sockopt::rcvtimeo, static_cast<int>(kPatience.count()));
  ask(1, 1);
  const Message next = receive(subscriber);
  ASSERT_EQ(next.size(), 3U);
  EXPECT_LT(next[2].find("AllBlocksCleared"), next[2].find("BlockStored"));
}

TEST_F(SimulatorKvStream, a_restart_begins_at_zero_without_a_clear) {
  SimEngine& engine = start(options());
  ask(1, 1);
  ask(2, 1);
  thread_.run([&] { engine.kill(); });
  thread_.await_closed(engine);
  EngineOptions again = options();
  again.port = port_;
  again.kv_events.endpoint = endpoint_;
  again.kv_events.replay_endpoint = replay_;
  start(again);
  ask(1, 1);
  const std::vector<Message> answers = replay({"", big_endian(0)});
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(sequence(answers[0][2]), 0U);
  EXPECT_EQ(answers[0][3].find("AllBlocksCleared"), std::string::npos);
}

TEST_F(SimulatorKvStream, every_rank_has_a_stream_of_its_own) {
  EngineOptions two = options();
  two.dp_size = 2;
  SimEngine& engine = start(two);
  thread_.run([&] { replay_ = engine.kv_replay_endpoint(1); });
  ASSERT_EQ(fakes::post_json(port_, "/v1/completions", R"({"prompt":[1,2,3,4,5],"max_tokens":1})",
                             {{"X-data-parallel-rank", "1"}})
                .status,
            200);
  const std::vector<Message> answers = replay({"", big_endian(0)});
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[0][3].back(), '\x01') << "the batch names its rank";
}

TEST_F(SimulatorKvStream, session_ids_come_from_header_or_body) {
  start(options());
  ask(1, 1, R"(,"session_id":"from-body")");
  (void)fakes::post_json(port_, "/v1/completions", R"({"prompt":[9,9,9,9,9],"max_tokens":1})",
                         {{"X-Session-ID", "from-header"}});
  const std::vector<Message> answers = replay({"", big_endian(0)});
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_NE(answers[0][3].find("from-body"), std::string::npos);
  EXPECT_NE(answers[1][3].find("from-header"), std::string::npos);
}

}  // namespace
}  // namespace rolter::simulator
