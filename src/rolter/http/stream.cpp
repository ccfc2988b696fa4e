#include "rolter/http/stream.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/deferred.hpp>
#include <cerrno>
#include <utility>

namespace rolter::http {
namespace {

// Awaiting a deferred operation costs no coroutine frame of its own, unlike use_awaitable.
constexpr auto kDeferred = asio::as_tuple(asio::deferred);

// Also what TLS says of an aborted stream: it knows the socket by a number that may be another's.
std::unexpected<Error> cancelled() {
  return fail(ErrorKind::kCancelled, "cancelled");
}

std::unexpected<Error> from_code(const boost::system::error_code& ec) {
  if (ec == asio::error::eof) {
    return fail(ErrorKind::kConnectionClosed, "connection closed by the peer");
  }
  if (ec == asio::error::operation_aborted || ec == asio::error::bad_descriptor) {
    return cancelled();
  }
  return fail(ErrorKind::kConnectionReset, "connection lost: " + ec.message());
}

std::unexpected<Error> from_errno(int error) {
  return from_code({error, boost::system::system_category()});
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

Stream::Stream(Socket socket) : socket_(std::move(socket)) {
  boost::system::error_code ignored;
  socket_.non_blocking(true, ignored);
}

Task<Result<std::size_t>> Stream::read_some(std::span<char> into) {
  if (tls_) {
    co_return co_await read_some_tls(into);
  }
  const auto [ec, bytes] =
      co_await socket_.async_read_some(asio::buffer(into.data(), into.size()), kDeferred);
  if (aborted_) {
    co_return cancelled();
  }
  if (ec) {
    co_return from_code(ec);
  }
  co_return bytes;
}

Result<std::size_t> Stream::try_read(std::span<char> into) {
  if (tls_ && aborted_) {
    return cancelled();
  }
  if (tls_) {
    auto step = tls_->read(into);
    return step ? Result<std::size_t>(step->bytes) : std::unexpected(std::move(step.error()));
  }
  const ssize_t bytes = ::recv(socket_.native_handle(), into.data(), into.size(), MSG_DONTWAIT);
  if (bytes > 0) {
    return static_cast<std::size_t>(bytes);
  }
  if (bytes == 0) {
    return fail(ErrorKind::kConnectionClosed, "connection closed by the peer");
  }
  if (errno == EAGAIN || errno == EINTR) {
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
    const ssize_t sent = ::sendmsg(socket_.native_handle(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
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
    const auto [ec] =
        co_await socket_.async_wait(wants_read ? Socket::wait_read : Socket::wait_write, kDeferred);
    if (aborted_ || ec) {
      co_return cancelled();
    }
  }
}

void Stream::cancel() {
  boost::system::error_code ignored;
  socket_.cancel(ignored);
}

Task<Result<void>> Stream::accept_tls(std::shared_ptr<const TlsContext> context) {
  tls_ = TlsSession::accepting(*context, socket_.native_handle());
  co_return co_await shake_hands();
}

Task<Result<void>> Stream::connect_tls(TlsPeer peer) {
  tls_ = TlsSession::connecting(peer, socket_.native_handle());
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
    if (auto waited = co_await wait_for(step->wait); !waited) {
      co_return waited;
    }
  }
}

Task<Result<void>> Stream::wait_for(TlsSession::Wait what) {
  const auto [ec] = co_await socket_.async_wait(
      what == TlsSession::Wait::kWritable ? Socket::wait_write : Socket::wait_read, kDeferred);
  if (aborted_ || ec) {
    co_return cancelled();
  }
  co_return Result<void>{};
}

Task<Result<std::size_t>> Stream::read_some_tls(std::span<char> into) {
  while (true) {
    if (aborted_) {
      co_return cancelled();
    }
    const auto step = tls_->read(into);
    if (!step) {
      co_return std::unexpected(step.error());
    }
    if (step->wait == TlsSession::Wait::kNone) {
      co_return step->bytes;
    }
    if (auto waited = co_await wait_for(step->wait); !waited) {
      co_return std::unexpected(std::move(waited.error()));
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
    boost::system::error_code ignored;
    socket_.close(ignored);
  }
}

void Stream::reset_at_abort() {
  boost::system::error_code ignored;
  socket_.set_option(asio::socket_base::linger(true, 0), ignored);
}

void Stream::shutdown_send() {
  if (tls_ && !aborted_) {
    tls_->say_end();
  }
  boost::system::error_code ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
}

bool Stream::peer_has_left() const {
  if (aborted_) {
    return true;  // as good as: poll() ignores a closed socket
  }
  pollfd entry{const_cast<Socket&>(socket_).native_handle(), POLLRDHUP, 0};
  return ::poll(&entry, 1, 0) > 0 && (entry.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

bool Stream::is_quiet() const {
  if (tls_ && tls_->has_pending()) {
    return false;
  }
  char byte = 0;
  const ssize_t bytes =
      ::recv(const_cast<Socket&>(socket_).native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return bytes < 0 && errno == EAGAIN;
}

}  // namespace rolter::http
