#include "rolter/http/stream.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rolter/http/task.h"
#include "tests/fakes/real_clock.h"

namespace rolter::http {
namespace {

/// A stream and the other end of its socket, which the test uses as a plain descriptor.
class StreamTest : public ::testing::Test {
 protected:
  struct Pair {
    std::unique_ptr<Stream> stream;
    int peer = -1;
  };

  ~StreamTest() override {
    for (const int peer : peers_) {
      ::close(peer);
    }
  }

  Pair make() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    Socket socket(io_.get_executor());
    socket.assign(asio::ip::tcp::v4(), ends[0]);
    peers_.push_back(ends[1]);
    return {std::make_unique<Stream>(*readiness_, std::move(socket)), ends[1]};
  }

  static void say(int peer, std::string_view bytes) {
    EXPECT_EQ(::send(peer, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  }

  void start(Task<> task) {
    spawn(io_.get_executor(), std::move(task),
          [](const std::exception_ptr& thrown) { EXPECT_EQ(thrown, nullptr); });
  }

  /// Reads until an error, and notes each piece and the error's kind.
  Task<> read_all(Stream& stream, std::size_t room = 100) {
    std::string buffer(room, '\0');
    while (true) {
      const auto bytes = co_await stream.read_some(buffer);
      if (!bytes) {
        log_.push_back(std::string("error: ") + std::string(to_string(bytes.error().kind)));
        co_return;
      }
      log_.push_back(buffer.substr(0, *bytes));
    }
  }

  asio::io_context io_{1};
  fakes::RealClock clock_;
  StepTimes times_{clock_};
  Turns turns_{io_};
  std::unique_ptr<Readiness> readiness_ = std::make_unique<Readiness>(io_, turns_, times_);
  std::vector<int> peers_;
  std::vector<std::string> log_;
};

const std::string kClosed = "error: " + std::string(to_string(ErrorKind::kConnectionClosed));
const std::string kCancelledText = "error: " + std::string(to_string(ErrorKind::kCancelled));

TEST_F(StreamTest, what_comes_while_it_waits_is_read) {
  auto [stream, peer] = make();
  start(read_all(*stream));
  io_.poll();
  EXPECT_TRUE(log_.empty());
  say(peer, "first");
  io_.poll();
  say(peer, "second");
  io_.poll();
  ::shutdown(peer, SHUT_WR);
  io_.run();
  EXPECT_EQ(log_, (std::vector<std::string>{"first", "second", kClosed}));
}

// One event tells of both; a reader that took the first read's shortness for "drained" would wait
// for ever.
TEST_F(StreamTest, an_end_that_came_with_the_bytes_before_it_is_seen) {
  auto [stream, peer] = make();
  start(read_all(*stream));
  io_.poll();
  say(peer, "last words");
  ::shutdown(peer, SHUT_WR);
  io_.run();
  EXPECT_EQ(log_, (std::vector<std::string>{"last words", kClosed}));
}

TEST_F(StreamTest, more_than_there_is_room_for_is_read_without_another_event) {
  auto [stream, peer] = make();
  start(read_all(*stream, 4));
  io_.poll();
  say(peer, "abcdefgh");
  io_.poll();
  EXPECT_EQ(log_, (std::vector<std::string>{"abcd", "efgh"}));
  say(peer, "ij");
  ::shutdown(peer, SHUT_WR);
  io_.run();
  EXPECT_EQ(log_, (std::vector<std::string>{"abcd", "efgh", "ij", kClosed}));
}

TEST_F(StreamTest, a_cancelled_read_leaves_the_stream_usable) {
  auto [stream, peer] = make();
  start(read_all(*stream));
  io_.poll();
  stream->cancel();
  io_.run();  // ends: nothing waits any more
  start(read_all(*stream));
  say(peer, "later");
  ::shutdown(peer, SHUT_WR);
  io_.restart();
  io_.run();
  EXPECT_EQ(log_, (std::vector<std::string>{kCancelledText, "later", kClosed}));
}

TEST_F(StreamTest, abort_ends_what_waits_and_what_comes_after) {
  auto [stream, peer] = make();
  start(read_all(*stream));
  io_.poll();
  stream->abort();
  io_.run();
  start(read_all(*stream));
  io_.restart();
  io_.run();
  EXPECT_EQ(log_, (std::vector<std::string>{kCancelledText, kCancelledText}));
}

TEST_F(StreamTest, a_write_waits_until_the_peer_has_read) {
  auto [stream, peer] = make();
  const std::string bytes(4'000'000, 'x');
  bool done = false;
  start([](Stream& to, std::string_view all, bool& is_done) -> Task<> {
    is_done = (co_await to.write_all({all})).has_value();
  }(*stream, bytes, done));
  std::size_t received = 0;
  std::string buffer(65'536, '\0');
  while (!done || received < bytes.size()) {
    io_.restart();
    io_.poll();
    const ssize_t got = ::recv(peer, buffer.data(), buffer.size(), MSG_DONTWAIT);
    received += got > 0 ? static_cast<std::size_t>(got) : 0;
  }
  EXPECT_EQ(received, bytes.size());
}

TEST_F(StreamTest, a_pooled_stream_is_not_quiet_once_its_peer_has_spoken_or_left) {
  auto pooled = make();
  auto left = make();
  auto other = make();
  std::string buffer(10, '\0');
  EXPECT_EQ(pooled.stream->try_read(buffer).value_or(1), 0U);  // drained
  EXPECT_EQ(left.stream->try_read(buffer).value_or(1), 0U);
  EXPECT_TRUE(pooled.stream->was_quiet());
  say(pooled.peer, "unasked");
  EXPECT_FALSE(pooled.stream->was_quiet()) << "no loop looks at events: the kernel is asked";

  start(read_all(*other.stream));
  io_.poll();
  EXPECT_FALSE(pooled.stream->was_quiet());
  EXPECT_TRUE(left.stream->was_quiet());
  ::shutdown(left.peer, SHUT_WR);
  io_.poll();
  EXPECT_FALSE(left.stream->was_quiet());
  ::shutdown(other.peer, SHUT_WR);
  io_.run();
}

TEST_F(StreamTest, a_stream_may_end_while_others_of_the_same_moment_go_on) {
  auto first = make();
  auto second = make();
  start([](Stream& mine, std::unique_ptr<Stream>& others, std::vector<std::string>& log) -> Task<> {
    std::string buffer(10, '\0');
    const auto bytes = co_await mine.read_some(buffer);
    log.push_back(buffer.substr(0, bytes.value_or(0)));
    others.reset();
  }(*first.stream, second.stream, log_));
  io_.poll();
  say(first.peer, "one");
  say(second.peer, "two");
  io_.run();
  EXPECT_EQ(log_, (std::vector<std::string>{"one"}));
}

TEST_F(StreamTest, what_waits_is_destroyed_with_its_loop) {
  auto [stream, peer] = make();
  const auto held = std::make_shared<int>(1);
  start([](std::unique_ptr<Stream> mine, std::shared_ptr<int> kept) -> Task<> {
    std::string buffer(10, '\0');
    static_cast<void>(co_await mine->read_some(buffer));
    ADD_FAILURE() << "went on without a loop, holding " << *kept;
  }(std::move(stream), held));
  io_.poll();
  EXPECT_EQ(held.use_count(), 2);
  readiness_.reset();
  EXPECT_EQ(held.use_count(), 1);
}

TEST_F(StreamTest, the_clock_is_read_once_in_a_step_and_anew_between_them) {
  class CountedClock final : public Clock {
   public:
    TimePoint now() const override { return TimePoint{Duration{++reads_}}; }
    WallTime wall_now() const override { return WallTime{WallTime::duration{++reads_}}; }

   private:
    mutable int reads_ = 0;
  };
  CountedClock counted;
  StepTimes times(counted);
  EXPECT_NE(times.now(), times.now());
  times.begin_step();
  const TimePoint first = times.now();
  EXPECT_EQ(times.now(), first);
  EXPECT_EQ(times.wall_now(), times.wall_now());
  times.begin_step();
  EXPECT_NE(times.now(), first);
  times.end_steps();
  EXPECT_NE(times.now(), times.now());
}

TEST_F(StreamTest, who_sends_waits_until_all_that_came_at_once_was_read) {
  auto a = make();
  auto b = make();
  const auto read_then_send = [this](Stream& stream, std::string name) -> Task<> {
    std::string buffer(10, '\0');
    static_cast<void>(co_await stream.read_some(buffer));
    log_.push_back("read " + name);
    co_await turns_.next();
    log_.push_back("send " + name);
  };
  start(read_then_send(*a.stream, "a"));
  start(read_then_send(*b.stream, "b"));
  io_.poll();
  say(a.peer, "x");
  say(b.peer, "x");
  io_.run();
  EXPECT_EQ(log_, (std::vector<std::string>{"read a", "read b", "send a", "send b"}));
}

}  // namespace
}  // namespace rolter::http
