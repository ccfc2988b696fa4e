#include "rolter/http/server_connection.h"
#include "tests/fakes/real_clock.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>

namespace rolter::http {
namespace {

/// A connected pair: the test writes and reads the client's end as a plain descriptor.
class ServerConnectionTest : public ::testing::Test {
 protected:
  ServerConnectionTest() {
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends_), 0);
    limits_.max_body_bytes = 1'000;
    socket_.assign(asio::ip::tcp::v4(), ends_[0]);
  }
  ~ServerConnectionTest() override { ::close(ends_[1]); }

  void client_sends(std::string_view bytes) {
    EXPECT_EQ(::send(ends_[1], bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  }
  std::string client_receives() {
    char bytes[4'096];
    const ssize_t got = ::recv(ends_[1], bytes, sizeof bytes, MSG_DONTWAIT);
    return got > 0 ? std::string(bytes, static_cast<std::size_t>(got)) : std::string();
  }
  void serve(std::function<Task<>(ServerConnection&)> body) {
    ServerConnection connection(loop_, std::move(socket_), limits_);
    std::exception_ptr thrown;
    spawn(io_.get_executor(), body(connection),
          [&thrown](const std::exception_ptr& e) { thrown = e; });
    io_.run();
    if (thrown) {
      std::rethrow_exception(thrown);
    }
  }

  /// One tick per round of the event loop until the test is done.
  void turn_wheel() {
    if (!done_) {
      loop_.wheel().advance(1);
      asio::post(io_, [this] { turn_wheel(); });
    }
  }

  bool done_ = false;
  asio::io_context io_{1};
  fakes::RealClock clock_;
  Loop loop_{io_, clock_};
  ServerLimits limits_;
  int ends_[2] = {-1, -1};
  Socket socket_{io_.get_executor()};
};

TEST_F(ServerConnectionTest, reads_pipelined_requests_with_both_framings) {
  client_sends(
      "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello"
      "POST /b HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nfoo\r\n3\r\nbar\r\n"
      "0\r\n\r\n"
      "GET /c HTTP/1.1\r\nHost: h\r\n\r\n");
  std::string seen;
  serve([&seen](ServerConnection& connection) -> Task<> {
    for (int i = 0; i < 3; ++i) {
      const auto head = co_await connection.read_head();
      EXPECT_TRUE(head) << (head ? "" : head.error().message);
      const auto body = co_await connection.read_body();
      EXPECT_TRUE(body);
      seen += std::string(connection.head().target) + "=" + std::string(*body) + ";";
      connection.finish_request();
    }
  });
  EXPECT_EQ(seen, "/a=hello;/b=foobar;/c=;");
}

TEST_F(ServerConnectionTest, head_views_follow_the_body_when_the_buffer_grows) {
  limits_.max_body_bytes = 100'000;
  const std::string body(50'000, 'x');
  client_sends("POST /long HTTP/1.1\r\nHost: h\r\nX-Mark: yes\r\nContent-Length: 50000\r\n\r\n");
  client_sends(body);
  serve([&body](ServerConnection& connection) -> Task<> {
    EXPECT_TRUE(co_await connection.read_head());
    const auto read = co_await connection.read_body();
    EXPECT_TRUE(read);
    EXPECT_EQ(*read, body);
    EXPECT_EQ(connection.head().target, "/long");
    EXPECT_EQ(connection.head().fields.get("x-mark"), "yes");
  });
}

TEST_F(ServerConnectionTest, a_body_over_the_limit_is_refused_before_it_is_read) {
  client_sends("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1001\r\n\r\n");
  serve([](ServerConnection& connection) -> Task<> {
    EXPECT_TRUE(co_await connection.read_head());
    const auto body = co_await connection.read_body();
    EXPECT_FALSE(body);
    EXPECT_EQ(body.error().kind, ErrorKind::kLimitExceeded);
  });
}

TEST_F(ServerConnectionTest, says_continue_only_to_a_client_that_waits_for_it) {
  client_sends("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  serve([this](ServerConnection& connection) -> Task<> {
    EXPECT_TRUE(co_await connection.read_head());
    // The body comes only after the interim answer would have been sent.
    client_sends("ok");
    const auto body = co_await connection.read_body();
    EXPECT_TRUE(body);
    EXPECT_EQ(*body, "ok");
  });
  EXPECT_EQ(client_receives(), "HTTP/1.1 100 Continue\r\n\r\n");
}

TEST_F(ServerConnectionTest, a_slow_head_times_out_and_an_idle_connection_just_ends) {
  limits_.head_timeout = std::chrono::milliseconds(100);
  limits_.idle_timeout = std::chrono::milliseconds(100);
  client_sends("POST / HT");
  serve([this](ServerConnection& connection) -> Task<> {
    turn_wheel();
    const auto slow = co_await connection.read_head();
    EXPECT_FALSE(slow);
    EXPECT_EQ(slow.error().kind, ErrorKind::kTimeout);
    done_ = true;
  });
}

TEST_F(ServerConnectionTest, sees_a_client_that_leaves_while_it_waits) {
  client_sends("GET / HTTP/1.1\r\nHost: h\r\n\r\nGET /pipelined");
  bool gone = false;
  serve([this, &gone](ServerConnection& connection) -> Task<> {
    EXPECT_TRUE(co_await connection.read_head());
    connection.watch([&gone] { gone = true; });
    loop_.wheel().advance(10);
    EXPECT_FALSE(gone);
    ::shutdown(ends_[1], SHUT_WR);
    loop_.wheel().advance(20);
    EXPECT_TRUE(gone);
  });
}

}  // namespace
}  // namespace rolter::http
