#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include "rolter/base/error.h"
#include "rolter/http/buffer_budget.h"
#include "rolter/http/chunked.h"
#include "rolter/http/head_parser.h"
#include "rolter/http/input_buffer.h"
#include "rolter/http/loop.h"
#include "rolter/http/stream.h"

namespace rolter::http {

/// What a client may take of us. Durations of 0 mean no limit.
struct ServerLimits {
  HeadLimits head;
  std::size_t max_body_bytes = 33'554'432;
  std::size_t max_buffered_bytes = 0;  // of all connections of one budget; 0 = no limit
  Duration head_timeout{};             // first to last byte of a head
  Duration body_timeout{};             // of a body; again as long while 1 KiB a second has come
  Duration idle_timeout{};             // between requests
};

/// The server's side of one client connection: reads one request after another and sends what it is
/// given. One loop, one coroutine at a time. Request data stays in one buffer: the head's views and
/// the body are good until finish_request() or release_request().
class ServerConnection {
 public:
  /// `budget` must outlive it; without one there is no max_buffered_bytes.
  ServerConnection(Loop& loop, Socket socket, ServerLimits limits, BufferBudget* budget = nullptr);

  /// Before the first head: speaks TLS from here on, for which the client has as long as for a
  /// head.
  [[nodiscard]] Task<Result<void>> accept_tls(std::shared_ptr<const TlsContext> context);

  /// Waits for the next request's head. Errors: kConnectionClosed when the client is done (nothing
  /// to answer), kTimeout after a part of a head (408), kProtocol (400), kLimitExceeded (431),
  /// kUnavailable (503) over max_buffered_bytes.
  /// After any error the connection must be closed.
  [[nodiscard]] Task<Result<void>> read_head();
  [[nodiscard]] const RequestHead& head() const { return head_; }

  /// The whole body, de-chunked, followed by kBodyPadding readable bytes. Sends "100 Continue" when
  /// the client waits for it. Errors: kLimitExceeded (413), kTimeout (408), kProtocol (400),
  /// kUnavailable (503), or the connection's end. After any error the connection must be closed.
  static constexpr std::size_t kBodyPadding = 64;
  [[nodiscard]] Eventual<Result<std::string_view>> read_body();

  /// Sends everything. The pieces must stay alive.
  [[nodiscard]] Eventual<Result<void>> send(Gather out);
  /// What the socket has not taken at once.
  [[nodiscard]] Task<Result<void>> send_rest(Gather out);
  [[nodiscard]] Stream& stream() { return stream_; }

  /// From the next read_head() on.
  void set_idle_timeout(Duration timeout) { limits_.idle_timeout = timeout; }

  /// Waiting for a request of which nothing has come.
  [[nodiscard]] bool idle() const { return idle_; }

  /// Calls `on_gone` once, from the loop, when the client's end of the connection is seen while a
  /// request is being served: 100 ms after this call and then several times a second, so that fast
  /// requests pay nothing and a departure is seen well within a second.
  void watch(std::function<void()> on_gone);
  void unwatch() { watch_.disarm(); }

  /// Gives the request's memory back early. The views of head() and the body are dead then.
  void release_request();

  /// Makes ready for the next request.
  void finish_request();

  /// Closes in a way that lets the client read what was sent although it may still be sending
  /// (RFC 9112, section 9.6): stops sending, then discards for a bounded time.
  [[nodiscard]] Task<> close_gently();
  void abort() { stream_.abort(); }

 private:
  [[nodiscard]] Task<Result<void>> fill(std::size_t room);
  [[nodiscard]] Task<Result<std::string_view>> await_body();
  [[nodiscard]] Task<Result<void>> read_sized_body();
  [[nodiscard]] Task<Result<void>> read_chunked_body();
  [[nodiscard]] Task<Result<void>> send_continue();
  [[nodiscard]] Result<std::size_t> find_head();
  void skip_empty_line();
  void reserve_keeping_head(std::size_t bytes);
  [[nodiscard]] Result<void> grow_keeping_head(std::size_t bytes);
  [[nodiscard]] std::unexpected<Error> body_too_large() const;
  void begin_body_window();
  void on_read_timeout();
  void on_watch();

  Loop& loop_;
  Stream stream_;
  ServerLimits limits_;
  InputBuffer in_;
  BufferBudget::Share share_;  // of which in_ is made
  HeadFinder finder_;
  RequestHead head_;
  std::size_t head_bytes_ = 0;
  std::size_t body_bytes_ = 0;
  bool released_ = false;
  bool idle_ = false;
  unsigned reads_ = 0;
  bool timed_out_ = false;
  bool skipped_line_ = false;
  bool in_body_ = false;
  std::size_t body_window_bytes_ = 0;  // since the body's deadline was armed
  Deadline read_deadline_;
  Deadline watch_;
  std::function<void()> on_gone_;
};

}  // namespace rolter::http
