#include "rolter/http/upstream_connection.h"

#include <algorithm>
#include <utility>

namespace rolter::http {
namespace {

constexpr int kMaxInterimHeads = 16;
constexpr HeadLimits kAnswerLimits{
    .max_bytes = 262'144, .max_fields = 512, .max_token_ids_bytes = 0};

}  // namespace

UpstreamConnection::UpstreamConnection(Loop& loop, Socket socket)
    : loop_(loop), stream_(loop.readiness(), std::move(socket)) {}

Result<void> UpstreamConnection::try_send(Gather& out) {
  in_.consume(std::exchange(pending_, 0));
  ++exchanges_;
  has_answer_bytes_ = false;
  complete_ = false;
  auto written = stream_.try_write(out);
  if (!written) {
    written.error().source = ErrorSource::kUpstream;
  }
  return written;
}

Task<Result<void>> UpstreamConnection::send_rest(Gather out) {
  auto written = co_await stream_.write_all(out);
  if (!written) {
    written.error().source = ErrorSource::kUpstream;
  }
  co_return written;
}

Task<Result<void>> UpstreamConnection::send(Gather out) {
  auto sent = try_send(out);
  if (sent && !out.empty()) {
    sent = co_await send_rest(out);
  }
  co_return sent;
}

Task<Result<void>> UpstreamConnection::read_head(bool to_head_request) {
  for (int interim = 0; interim < kMaxInterimHeads; ++interim) {
    finder_.reset();
    auto found = finder_.find(in_.readable(), kAnswerLimits);
    while (found && *found == 0) {
      if (in_.writable().empty()) {
        in_.reserve(std::max(InputBuffer::kIdleBytes, 2 * in_.readable().size()));
      }
      const auto bytes = co_await stream_.read_some(in_.writable());
      if (!bytes) {
        Error error = bytes.error();
        error.source = ErrorSource::kUpstream;
        co_return std::unexpected(std::move(error));
      }
      filled_last_read_ = *bytes == in_.writable().size();
      in_.commit(*bytes);
      has_answer_bytes_ = true;
      found = finder_.find(in_.readable(), kAnswerLimits);
    }
    if (!found) {
      co_return fail(ErrorKind::kProtocol, "the replica's answer has too long a head",
                     ErrorSource::kUpstream);
    }
    // Copied, since the body's first bytes will take the buffer while the head is still wanted.
    head_bytes_.assign(in_.readable().substr(0, *found));
    in_.consume(*found);
    auto parsed = parse_response_head(head_bytes_, kAnswerLimits, to_head_request, head_);
    if (!parsed) {
      parsed.error().source = ErrorSource::kUpstream;
      co_return parsed;
    }
    if (head_.status >= 200) {
      begin_body();
      co_return Result<void>{};
    }
    if (head_.status == 101) {
      break;
    }
  }
  co_return fail(ErrorKind::kProtocol, "the replica sent no final answer", ErrorSource::kUpstream);
}

void UpstreamConnection::begin_body() {
  chunks_ = {};
  left_ = head_.framing == Framing::kLength ? head_.content_length : 0;
  trailing_bytes_ = false;
  complete_ = head_.framing == Framing::kNone || (head_.framing == Framing::kLength && left_ == 0);
}

Result<UpstreamConnection::Piece> UpstreamConnection::take(std::string_view bytes, BodySink& sink) {
  std::size_t taken = 0;
  switch (head_.framing) {
    case Framing::kNone:
      break;
    case Framing::kUntilClose:
      taken = bytes.size();
      sink.on_data(bytes);
      break;
    case Framing::kLength:
      taken = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
      left_ -= taken;
      complete_ = left_ == 0;
      sink.on_data(bytes.substr(0, taken));
      break;
    case Framing::kChunked:
      while (taken < bytes.size() && !chunks_.done()) {
        auto step = chunks_.next(bytes.substr(taken));
        if (!step) {
          step.error().source = ErrorSource::kUpstream;
          return std::unexpected(std::move(step.error()));
        }
        taken += step->consumed;
        if (!step->data.empty()) {
          sink.on_data(step->data);
        }
      }
      complete_ = chunks_.done();
      break;
  }
  trailing_bytes_ = complete_ && taken < bytes.size();
  return Piece{bytes.substr(0, taken), complete_};
}

Result<UpstreamConnection::Piece> UpstreamConnection::on_read_error(Error error) {
  if (error.kind == ErrorKind::kConnectionClosed && head_.framing == Framing::kUntilClose) {
    complete_ = true;
    return Piece{{}, true};
  }
  error.source = ErrorSource::kUpstream;
  return std::unexpected(std::move(error));
}

Eventual<Result<UpstreamConnection::Piece>> UpstreamConnection::read_body(BodySink& sink) {
  in_.consume(std::exchange(pending_, 0));
  const bool reads_on = !complete_ && in_.empty() && filled_last_read_;
  if (reads_on && ++reads_in_a_row_ >= Loop::kReadsInARow) {
    return await_body(sink);
  }
  auto piece = try_read_body(sink);
  if (!piece || !piece->raw.empty() || piece->end) {
    return piece;
  }
  return await_body(sink);
}

/// Reads after its turn, when more may have come, into the loop's memory: what comes is passed on
/// at once, so that a stream needs no buffer while it is silent.
Task<Result<UpstreamConnection::Piece>> UpstreamConnection::await_body(BodySink& sink) {
  in_.release();
  reads_in_a_row_ = 0;
  bool waits = !stream_.may_have_bytes();
  while (true) {
    if (waits && !co_await stream_.until_readable()) {
      co_return on_read_error(
          {ErrorKind::kCancelled, ErrorSource::kUpstream, Retry::kNo, "cancelled"});
    }
    co_await loop_.turn();
    auto piece = read_now(sink);
    if (!piece || !piece->raw.empty() || piece->end) {
      co_return piece;
    }
    waits = true;
  }
}

Result<UpstreamConnection::Piece> UpstreamConnection::read_now(BodySink& sink) {
  const auto bytes = stream_.try_read(loop_.scratch());
  if (!bytes) {
    return on_read_error(bytes.error());
  }
  filled_last_read_ = *bytes == loop_.scratch().size();
  return take({loop_.scratch().data(), *bytes}, sink);
}

Result<UpstreamConnection::Piece> UpstreamConnection::try_read_body(BodySink& sink) {
  in_.consume(std::exchange(pending_, 0));
  if (complete_) {
    trailing_bytes_ = trailing_bytes_ || !in_.empty();
    return Piece{{}, true};
  }
  if (!in_.empty()) {
    pending_ = in_.readable().size();
    return take(in_.readable(), sink);
  }
  return filled_last_read_ ? read_now(sink) : Piece{};
}

bool UpstreamConnection::reusable() const {
  return complete_ && head_.keep_alive && !trailing_bytes_ && !stream_.aborted() &&
         in_.readable().size() == pending_;
}

}  // namespace rolter::http
