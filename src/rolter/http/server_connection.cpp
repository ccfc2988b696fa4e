#include "rolter/http/server_connection.h"

#include <algorithm>
#include <string>
#include <utility>

namespace rolter::http {
namespace {

constexpr std::chrono::milliseconds kFirstLook{100};
constexpr std::chrono::milliseconds kNextLooks{400};
constexpr std::size_t kBodyBytesPerSecond = 1'024;
constexpr std::chrono::seconds kLingerTime{2};
constexpr std::size_t kLingerBytes = 67'108'864;
constexpr std::size_t kReadAhead = 16'384;
constexpr std::size_t kMostReadAhead = 1'048'576;  // of what grows: copied a few times in all

}  // namespace

ServerConnection::ServerConnection(Loop& loop, Socket socket, ServerLimits limits,
                                   BufferBudget* budget)
    : loop_(loop),
      stream_(loop.readiness(), std::move(socket)),
      limits_(limits),
      share_(budget),
      read_deadline_(loop.wheel(), [this] { on_read_timeout(); }),
      watch_(loop.wheel(), [this] { on_watch(); }) {}

void ServerConnection::on_read_timeout() {
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(limits_.body_timeout).count();
  if (in_body_ && body_window_bytes_ > 0 &&
      body_window_bytes_ >= static_cast<std::size_t>(seconds) * kBodyBytesPerSecond) {
    begin_body_window();
    return;
  }
  timed_out_ = true;
  stream_.cancel();
}

Task<Result<void>> ServerConnection::fill(std::size_t room) {
  if (in_.writable().size() < room) {
    if (auto grown = grow_keeping_head(in_.readable().size() + room); !grown) {
      co_return grown;
    }
  }
  // The deadline may have passed while this coroutine did not wait, and is not armed any more.
  Result<std::size_t> bytes = fail(ErrorKind::kCancelled, "cancelled");
  if (!timed_out_) {
    bytes = co_await stream_.read_some(in_.writable());
  }
  if (!bytes) {
    if (timed_out_ && !stream_.aborted()) {
      co_return fail(ErrorKind::kTimeout, "timed out waiting for the client", ErrorSource::kClient);
    }
    Error error = bytes.error();
    error.source = ErrorSource::kClient;
    co_return std::unexpected(std::move(error));
  }
  in_.commit(*bytes);
  body_window_bytes_ += *bytes;
  if (++reads_ % Loop::kReadsInARow == 0) {
    co_await loop_.turn();
  }
  co_return Result<void>{};
}

void ServerConnection::skip_empty_line() {
  // Robustness towards clients that end a body with a stray CRLF (RFC 9112, section 2.2).
  if (!skipped_line_ && in_.readable().starts_with("\r\n")) {
    skipped_line_ = true;
    in_.consume(2);
    finder_.reset();
  }
}

Result<std::size_t> ServerConnection::find_head() {
  skip_empty_line();
  return finder_.find(in_.readable(), limits_.head);
}

Task<Result<void>> ServerConnection::accept_tls(std::shared_ptr<const TlsContext> context) {
  idle_ = true;
  read_deadline_.arm(limits_.head_timeout);
  auto accepted = co_await stream_.accept_tls(std::move(context));
  read_deadline_.disarm();
  idle_ = false;
  co_return accepted;
}

Task<Result<void>> ServerConnection::read_head() {
  finder_.reset();
  timed_out_ = false;
  skipped_line_ = false;
  bool in_head = false;
  read_deadline_.arm(limits_.idle_timeout);
  auto found = find_head();
  idle_ = in_.empty();
  while (found && *found == 0) {
    if (!in_head && !in_.empty()) {
      in_head = true;
      idle_ = false;
      read_deadline_.arm(limits_.head_timeout);
    }
    const bool had_bytes = !in_.empty();
    const std::size_t room = in_.writable().empty() ? in_.readable().size() + 1 : 1;
    if (auto filled = co_await fill(std::min(room, kMostReadAhead)); !filled) {
      read_deadline_.disarm();
      if (filled.error().kind == ErrorKind::kTimeout && !had_bytes) {
        co_return fail(ErrorKind::kConnectionClosed, "idle connection", ErrorSource::kClient);
      }
      co_return filled;
    }
    found = find_head();
  }
  idle_ = false;
  read_deadline_.disarm();
  if (!found) {
    co_return std::unexpected(std::move(found.error()));
  }
  head_bytes_ = *found;
  body_bytes_ = 0;
  released_ = false;
  co_return parse_request_head(in_.readable_span().first(head_bytes_), limits_.head, head_);
}

void ServerConnection::reserve_keeping_head(std::size_t bytes) {
  const char* before = in_.readable().data();
  in_.reserve(bytes);
  const char* after = in_.readable().data();
  if (before != after && head_bytes_ > 0) {
    head_.fields.rebase(before, after);
    head_.method = {after + (head_.method.data() - before), head_.method.size()};
    head_.target = {after + (head_.target.data() - before), head_.target.size()};
  }
}

Result<void> ServerConnection::grow_keeping_head(std::size_t bytes) {
  if (!share_.grow_to(bytes, limits_.max_buffered_bytes)) {
    return fail(ErrorKind::kUnavailable,
                "the gateway holds as many bytes of requests as it may (max_buffered_bytes); try "
                "again shortly");
  }
  reserve_keeping_head(bytes);
  return {};
}

Task<Result<void>> ServerConnection::send_continue() {
  if (!head_.expects_continue) {
    co_return Result<void>{};
  }
  co_return co_await send({"HTTP/1.1 100 Continue\r\n\r\n"});
}

std::unexpected<Error> ServerConnection::body_too_large() const {
  return fail(ErrorKind::kLimitExceeded,
              "the request body is larger than " + std::to_string(limits_.max_body_bytes) +
                  " bytes (max_body_bytes)",
              ErrorSource::kClient);
}

void ServerConnection::begin_body_window() {
  body_window_bytes_ = 0;
  read_deadline_.arm(limits_.body_timeout);
}

Eventual<Result<std::string_view>> ServerConnection::read_body() {
  // A short body mostly comes with its head.
  const bool is_here = head_.framing == Framing::kLength &&
                       head_.content_length <= limits_.max_body_bytes &&
                       in_.readable().size() - head_bytes_ >= head_.content_length;
  if (head_.framing != Framing::kNone && !is_here) {
    return await_body();
  }
  body_bytes_ = is_here ? static_cast<std::size_t>(head_.content_length) : 0;
  reserve_keeping_head(in_.readable().size() + kBodyPadding);
  return in_.readable().substr(head_bytes_, body_bytes_);
}

Task<Result<std::string_view>> ServerConnection::await_body() {
  in_body_ = true;
  const Result<void> done = head_.framing == Framing::kChunked ? co_await read_chunked_body()
                                                               : co_await read_sized_body();
  in_body_ = false;
  read_deadline_.disarm();
  if (!done) {
    co_return std::unexpected(done.error());
  }
  co_return in_.readable().substr(head_bytes_, body_bytes_);
}

Task<Result<void>> ServerConnection::read_sized_body() {
  if (head_.content_length > limits_.max_body_bytes) {
    co_return body_too_large();
  }
  body_bytes_ = static_cast<std::size_t>(head_.content_length);
  const std::size_t whole = head_bytes_ + body_bytes_;
  if (auto grown = grow_keeping_head(whole + kBodyPadding); !grown) {
    co_return grown;
  }
  if (auto sent = co_await send_continue(); !sent) {
    co_return sent;
  }
  begin_body_window();
  while (in_.readable().size() < whole) {
    if (auto filled = co_await fill(1); !filled) {
      co_return filled;
    }
  }
  reserve_keeping_head(in_.readable().size() + kBodyPadding);
  co_return Result<void>{};
}

Task<Result<void>> ServerConnection::read_chunked_body() {
  if (in_.readable().size() == head_bytes_) {
    if (auto sent = co_await send_continue(); !sent) {
      co_return sent;
    }
  }
  ChunkScanner scanner;
  begin_body_window();
  while (true) {
    // Body bytes move down over the framing before them; what follows the last chunk is the next
    // request's and moves up behind the body.
    std::size_t scanned = head_bytes_ + body_bytes_;
    while (scanned < in_.readable().size() && !scanner.done()) {
      const auto step = scanner.next(in_.readable().substr(scanned));
      if (!step) {
        co_return std::unexpected(step.error());
      }
      scanned += step->consumed;
      char* to = in_.readable_span().data() + head_bytes_ + body_bytes_;
      std::copy(step->data.begin(), step->data.end(), to);
      body_bytes_ += step->data.size();
    }
    in_.erase(head_bytes_ + body_bytes_, scanned - head_bytes_ - body_bytes_);
    if (body_bytes_ > limits_.max_body_bytes) {
      co_return body_too_large();
    }
    if (scanner.done()) {
      reserve_keeping_head(in_.readable().size() + kBodyPadding);
      co_return Result<void>{};
    }
    const std::size_t room = std::clamp(body_bytes_, kReadAhead, kMostReadAhead);
    if (auto filled = co_await fill(in_.writable().size() > 0 ? 1 : room); !filled) {
      co_return filled;
    }
  }
}

Eventual<Result<void>> ServerConnection::send(Gather out) {
  auto written = stream_.try_write(out);
  if (written && !out.empty()) {
    return send_rest(out);
  }
  if (!written) {
    written.error().source = ErrorSource::kClient;
  }
  return written;
}

Task<Result<void>> ServerConnection::send_rest(Gather out) {
  auto written = co_await stream_.write_all(out);
  if (!written) {
    written.error().source = ErrorSource::kClient;
  }
  co_return written;
}

void ServerConnection::watch(std::function<void()> on_gone) {
  on_gone_ = std::move(on_gone);
  watch_.arm(kFirstLook);
}

void ServerConnection::on_watch() {
  if (stream_.peer_has_left()) {
    on_gone_();
    return;
  }
  watch_.arm(kNextLooks);
}

void ServerConnection::release_request() {
  if (!released_) {
    released_ = true;
    in_.consume(head_bytes_ + body_bytes_);
    head_bytes_ = body_bytes_ = 0;
    if (in_.empty()) {
      in_.release();
    } else {
      in_.shrink();
    }
    share_.release();
  }
}

void ServerConnection::finish_request() {
  if (!released_) {
    released_ = true;
    in_.consume(head_bytes_ + body_bytes_);
    head_bytes_ = body_bytes_ = 0;
    if (in_.capacity() > InputBuffer::kIdleBytes) {
      in_.shrink();
      share_.release();
    }
  }
}

Task<> ServerConnection::close_gently() {
  stream_.shutdown_send();
  in_.release();
  head_bytes_ = 0;
  read_deadline_.arm(kLingerTime);
  timed_out_ = false;
  std::size_t discarded = 0;
  while (discarded < kLingerBytes) {
    in_.reserve(InputBuffer::kIdleBytes);
    const auto bytes = co_await stream_.read_some(in_.writable());
    if (!bytes) {
      break;
    }
    discarded += *bytes;
    while (discarded < kLingerBytes) {
      const auto more = stream_.try_read(loop_.scratch());
      if (!more || *more == 0) {
        break;
      }
      discarded += *more;
    }
  }
  read_deadline_.disarm();
  stream_.abort();
}

}  // namespace rolter::http
