#include "rolter/http/stream.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace rolter::http {
namespace {

// Also what TLS says of an aborted stream: it knows the socket by a number that may be another's.
std::unexpected<Error> cancelled() {
  return fail(ErrorKind::kCancelled, "cancelled");
}

std::unexpected<Error> from_errno(int error) {
  if (error == EBADF) {
    return cancelled();
  }
  return fail(ErrorKind::kConnectionReset,
              "connection lost: " + std::error_code(error, std::system_category()).message());
}

}  // namespace

void Gather::consume(std::size_t bytes) {
  size_ -= bytes;
  while (bytes > 0) {
    std::string_view& piece = pieces_[first_];
    if (bytes < piece.size()) {
      piece.remove_prefix(bytes);
      return;
    }
    bytes -= piece.size();
    ++first_;
  }
}

Stream::Stream(Readiness& readiness, Socket socket) : socket_(readiness, std::move(socket)) {}

Eventual<Result<std::size_t>> Stream::read_some(std::span<char> into) {
  if (socket_.may_have_bytes()) {
    auto bytes = try_read(into);
    if (!bytes || *bytes > 0) {
      return bytes;
    }
  }
  return await_bytes(into);
}

Task<Result<std::size_t>> Stream::await_bytes(std::span<char> into) {
  while (true) {
    if (!co_await until_readable() || aborted_) {
      co_return cancelled();
    }
    auto bytes = try_read(into);
    if (!bytes || *bytes > 0) {
      co_return bytes;
    }
  }
}

Result<std::size_t> Stream::try_read(std::span<char> into) {
  if (aborted_) {
    return cancelled();
  }
  if (tls_) {
    auto step = tls_->read(into);
    tls_wants_to_write_ = step && step->wait == TlsSession::Wait::kWritable;
    return step ? Result<std::size_t>(step->bytes) : std::unexpected(std::move(step.error()));
  }
  if (!socket_.may_have_bytes() && socket_.is_up_to_date()) {
    return std::size_t{0};
  }
  const ssize_t bytes = ::recv(socket_.descriptor(), into.data(), into.size(), MSG_DONTWAIT);
  if (bytes < static_cast<ssize_t>(into.size())) {
    socket_.drained();
  }
  if (bytes > 0) {
    return static_cast<std::size_t>(bytes);
  }
  if (bytes == 0) {
    return fail(ErrorKind::kConnectionClosed, "connection closed by the peer");
  }
  if (errno == EAGAIN) {
    return std::size_t{0};
  }
  return from_errno(errno);
}

Result<void> Stream::try_write(Gather& out) {
  if (tls_) {
    return try_write_tls(out);
  }
  while (!out.empty()) {
    std::array<iovec, Gather::kMaxPieces> vectors;
    std::size_t count = 0;
    for (const std::string_view piece : out.pieces()) {
      vectors[count++] = {const_cast<char*>(piece.data()), piece.size()};
    }
    msghdr message{};
    message.msg_iov = vectors.data();
    message.msg_iovlen = count;
    const ssize_t sent = ::sendmsg(socket_.descriptor(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno == EINTR) {
        continue;
      }
      if (errno == EAGAIN) {
        return {};
      }
      return from_errno(errno);
    }
    out.consume(static_cast<std::size_t>(sent));
  }
  return {};
}

Task<Result<void>> Stream::write_all(Gather out) {
  while (true) {
    if (auto written = try_write(out); !written || out.empty()) {
      co_return written;
    }
    const bool wants_read = tls_ && tls_write_wait_ == TlsSession::Wait::kReadable;
    const bool may_go_on = co_await (wants_read ? socket_.readable() : socket_.writable());
    if (aborted_ || !may_go_on) {
      co_return cancelled();
    }
  }
}

void Stream::cancel() {
  socket_.cancel();
}

Task<Result<void>> Stream::accept_tls(std::shared_ptr<const TlsContext> context) {
  tls_ = TlsSession::accepting(*context, socket_.descriptor());
  co_return co_await shake_hands();
}

Task<Result<void>> Stream::connect_tls(TlsPeer peer) {
  tls_ = TlsSession::connecting(peer, socket_.descriptor());
  co_return co_await shake_hands();
}

Task<Result<void>> Stream::shake_hands() {
  while (true) {
    if (aborted_) {
      co_return cancelled();
    }
    const auto step = tls_->handshake();
    if (!step) {
      co_return std::unexpected(step.error());
    }
    if (step->wait == TlsSession::Wait::kNone) {
      co_return Result<void>{};
    }
    const bool writes = step->wait == TlsSession::Wait::kWritable;
    if (!co_await (writes ? socket_.writable() : socket_.readable())) {
      co_return cancelled();
    }
  }
}

/// Pieces are joined into records of up to 16 KiB, so that a head and a short body share one.
Result<void> Stream::try_write_tls(Gather& out) {
  if (aborted_) {
    return cancelled();
  }
  constexpr std::size_t kRecordBytes = 16'384;
  while (!out.empty()) {
    std::array<char, kRecordBytes> record;
    std::size_t filled = 0;
    for (const std::string_view piece : out.pieces()) {
      filled += piece.copy(record.data() + filled, record.size() - filled);
    }
    const auto step = tls_->write({record.data(), filled});
    if (!step) {
      return std::unexpected(step.error());
    }
    tls_write_wait_ = step->wait;
    if (step->wait != TlsSession::Wait::kNone) {
      return {};
    }
    out.consume(step->bytes);
  }
  return {};
}

void Stream::abort() {
  if (!aborted_) {
    aborted_ = true;
    socket_.close();
  }
}

void Stream::reset_at_abort() {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(socket_.descriptor(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

void Stream::shutdown_send() {
  if (tls_ && !aborted_) {
    tls_->say_end();
  }
  ::shutdown(socket_.descriptor(), SHUT_WR);
}

bool Stream::peer_has_left() const {
  if (aborted_) {
    return true;  // as good as: poll() ignores a closed socket
  }
  pollfd entry{socket_.descriptor(), POLLRDHUP, 0};
  return ::poll(&entry, 1, 0) > 0 && (entry.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

bool Stream::is_quiet() const {
  if (tls_ && tls_->has_pending()) {
    return false;
  }
  char byte = 0;
  const ssize_t bytes = ::recv(socket_.descriptor(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return bytes < 0 && errno == EAGAIN;
}

bool Stream::was_quiet() const {
  if (socket_.may_have_bytes() || !socket_.is_up_to_date()) {
    return is_quiet();
  }
  return !tls_ || !tls_->has_pending();
}

}  // namespace rolter::http
