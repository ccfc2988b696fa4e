#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "rolter/base/error.h"
#include "rolter/http/chunked.h"
#include "rolter/http/head_parser.h"
#include "rolter/http/input_buffer.h"
#include "rolter/http/loop.h"
#include "rolter/http/stream.h"

namespace rolter::http {

/// Sees an answer's body without its framing, as it passes. Must not fail and not suspend.
class BodySink {
 public:
  virtual ~BodySink() = default;
  virtual void on_data(std::string_view bytes) = 0;
};

/// Our side of one connection to a replica: one exchange after another. One loop, one coroutine.
class UpstreamConnection {
 public:
  UpstreamConnection(Loop& loop, Socket socket);

  /// Before the first exchange: speaks TLS from here on.
  [[nodiscard]] Task<Result<void>> connect_tls(TlsPeer peer) {
    return stream_.connect_tls(std::move(peer));
  }

  /// Begins an exchange: sends what the socket takes now of a whole request and consumes it from
  /// `out`. The rest, if any, is for send_rest(), which waits. An error can mean that the replica
  /// has answered early and closed: read_head() may still find that answer.
  [[nodiscard]] Result<void> try_send(Gather& out);
  [[nodiscard]] Task<Result<void>> send_rest(Gather out);
  /// Both, for pieces that stay alive.
  [[nodiscard]] Task<Result<void>> send(Gather out);

  /// Waits for the final head; interim ones (1xx) are skipped, at most 16 of them. Errors are the
  /// replica's: kConnectionClosed or kConnectionReset (nothing of an answer has come when
  /// has_answer_bytes() is false), kProtocol, kLimitExceeded, kCancelled after abort().
  [[nodiscard]] Task<Result<void>> read_head(bool to_head_request);
  /// Its views are good until the next exchange.
  [[nodiscard]] const ResponseHead& head() const { return head_; }

  /// Whether any byte of the current answer has come.
  [[nodiscard]] bool has_answer_bytes() const { return has_answer_bytes_; }

  struct Piece {
    std::string_view raw;  // as framed by the replica; good until the next call or suspension
    bool end = false;      // the body is complete with this piece
  };

  /// The next piece of the body, waiting for it if need be. `sink` sees its data. A replica that
  /// ends too early is an error, never an end.
  [[nodiscard]] Eventual<Result<Piece>> read_body(BodySink& sink);

  /// Another piece if there is one already, without waiting: a Piece without bytes when not.
  [[nodiscard]] Result<Piece> try_read_body(BodySink& sink);

  /// Whether the connection may carry another exchange: answer complete, kept alive, nothing after.
  [[nodiscard]] bool reusable() const;

  /// As of when the loop last looked at its events.
  [[nodiscard]] bool was_quiet() const { return stream_.was_quiet(); }
  [[nodiscard]] std::uint64_t exchanges() const { return exchanges_; }
  /// After a request that could not be sent whole: an answer may have come before, but the replica
  /// is not to wait for the rest, nor we for what it would say to that.
  void end_sending() { stream_.shutdown_send(); }

  void abort() { stream_.abort(); }

 private:
  [[nodiscard]] Task<Result<Piece>> await_body(BodySink& sink);
  [[nodiscard]] Result<Piece> read_now(BodySink& sink);
  [[nodiscard]] Result<Piece> take(std::string_view bytes, BodySink& sink);
  [[nodiscard]] Result<Piece> on_read_error(Error error);
  void begin_body();

  Loop& loop_;
  Stream stream_;
  InputBuffer in_;
  HeadFinder finder_;
  ResponseHead head_;
  std::string head_bytes_;  // where its views point
  ChunkScanner chunks_;
  std::uint64_t left_ = 0;  // of a body with a length
  std::uint64_t exchanges_ = 0;
  std::size_t pending_ = 0;  // bytes of in_ handed out by the last call
  unsigned reads_in_a_row_ = 0;
  bool has_answer_bytes_ = false;
  bool complete_ = false;
  bool trailing_bytes_ = false;
  bool filled_last_read_ = false;  // there may be more to read at once
};

}  // namespace rolter::http
