#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "rolter/base/error.h"
#include "rolter/http/asio.h"
#include "rolter/http/readiness.h"
#include "rolter/http/tls.h"

namespace rolter::http {

/// Up to eight pieces that go out in one gathered write. Knows how much of them is still to be
/// sent.
class Gather {
 public:
  static constexpr std::size_t kMaxPieces = 8;

  Gather() = default;
  Gather(std::initializer_list<std::string_view> pieces) {
    for (const std::string_view piece : pieces) {
      add(piece);
    }
  }

  void add(std::string_view piece) {
    if (!piece.empty()) {
      pieces_[count_++] = piece;
      size_ += piece.size();
    }
  }
  [[nodiscard]] std::span<const std::string_view> pieces() const {
    return {pieces_.data() + first_, count_ - first_};
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  void consume(std::size_t bytes);

 private:
  std::array<std::string_view, kMaxPieces> pieces_{};
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  std::size_t size_ = 0;
};

/// A connected byte stream on one loop, in plain or, after start_tls(), encrypted. At most one read
/// and one write may wait at a time.
class Stream {
 public:
  Stream(Readiness& readiness, Socket socket);

  /// Everything from here on goes through TLS: as the one who accepted, or as the one who connects
  /// to `peer`. Errors: kConnectFailed, or kCancelled after cancel() or abort().
  [[nodiscard]] Task<Result<void>> accept_tls(std::shared_ptr<const TlsContext> context);
  [[nodiscard]] Task<Result<void>> connect_tls(TlsPeer peer);

  /// Waits for at least one byte. Errors: kConnectionClosed at the peer's end, kConnectionReset, or
  /// kCancelled after abort().
  [[nodiscard]] Eventual<Result<std::size_t>> read_some(std::span<char> into);

  /// To await before a try_read() that is not to be in vain: false after cancel() or abort().
  [[nodiscard]] Readiness::Wait until_readable() {
    return tls_wants_to_write_ ? socket_.writable() : socket_.readable();
  }
  /// False when a try_read() would find nothing.
  [[nodiscard]] bool may_have_bytes() const { return socket_.may_have_bytes(); }

  /// What is there now, without waiting: 0 when nothing is. Errors as read_some().
  [[nodiscard]] Result<std::size_t> try_read(std::span<char> into);

  /// Sends as much as the socket takes now and consumes it from `out`.
  [[nodiscard]] Result<void> try_write(Gather& out);

  /// Sends everything, waiting for the peer as long as it takes. The pieces must stay alive.
  [[nodiscard]] Task<Result<void>> write_all(Gather out);

  /// Makes what waits on the stream return kCancelled; the stream stays usable.
  void cancel();

  /// Ends both directions at once; whatever waits on the stream returns kCancelled.
  void abort();
  [[nodiscard]] bool aborted() const { return aborted_; }

  /// abort() shall reset the connection, not end it in an orderly way.
  void reset_at_abort();

  /// Says "no more" to the peer, which may still be sending.
  void shutdown_send();

  /// Whether the peer has ended or reset its side, even behind bytes that are not read yet. One
  /// poll(2), no waiting.
  [[nodiscard]] bool peer_has_left() const;

  /// Nothing to read and not closed: at this moment, or when the loop last looked at its events.
  [[nodiscard]] bool is_quiet() const;
  [[nodiscard]] bool was_quiet() const;

 private:
  [[nodiscard]] Task<Result<void>> shake_hands();
  [[nodiscard]] Task<Result<std::size_t>> await_bytes(std::span<char> into);
  [[nodiscard]] Result<void> try_write_tls(Gather& out);

  WatchedSocket socket_;
  std::unique_ptr<TlsSession> tls_;  // null: plain
  TlsSession::Wait tls_write_wait_ = TlsSession::Wait::kNone;
  bool tls_wants_to_write_ = false;  // before it can read
  bool aborted_ = false;
};

}  // namespace rolter::http
