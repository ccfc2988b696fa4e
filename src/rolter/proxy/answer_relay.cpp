#include "rolter/proxy/answer_relay.h"

#include <utility>

namespace rolter::proxy {

AnswerRelay::AnswerRelay(http::ServerConnection& client, http::UpstreamConnection& upstream,
                         std::unique_ptr<openai::AnswerObserver> observer)
    : client_(client), upstream_(upstream), observer_(std::move(observer)) {}

void AnswerRelay::on_data(std::string_view bytes) {
  if (observer_) {
    observer_->feed(bytes);
  }
  if (filter_) {
    filter_->feed(bytes, stripped_);
  } else if (strips_framing_) {
    stripped_.append(bytes);
  }
}

void AnswerRelay::filter_usage(http::Framing framing) {
  if (framing == http::Framing::kChunked || framing == http::Framing::kUntilClose) {
    filter_ = std::make_unique<openai::UsageFilter>();
    strips_framing_ = strips_framing_ || framing == http::Framing::kUntilClose;
  }
}

/// A chunk of its own framing, since it is shorter than the replica's. Trailers go with that.
std::string_view AnswerRelay::filtered() {
  if (last_.end) {
    filter_->finish(stripped_);
  }
  if (strips_framing_) {
    return stripped_;
  }
  framed_.clear();
  if (!stripped_.empty()) {
    http::append_chunk(framed_, stripped_);
  }
  framed_.append(last_.end ? http::kLastChunk : std::string_view());
  return framed_;
}

bool AnswerRelay::may_commit() const {
  if (last_.end || held().size() >= kMaxHeldBytes) {
    return true;
  }
  if (holds_whole_) {
    return false;
  }
  return observer_ ? observer_->saw_content() : !held().empty();
}

/// The usual answer comes in one piece, which is then sent from where it was read. Only when more
/// is awaited must it be copied.
void AnswerRelay::keep(http::UpstreamConnection::Piece piece) {
  last_ = piece;
  if (!held_.empty()) {
    held_.append(last_.raw);
    last_.raw = {};
  }
}

http::Eventual<Result<void>> AnswerRelay::hold() {
  auto piece = upstream_.try_read_body(*this);
  if (!piece) {
    return std::unexpected(std::move(piece.error()));
  }
  keep(*piece);
  if (may_commit()) {
    return Result<void>{};
  }
  return hold_on();
}

http::Task<Result<void>> AnswerRelay::hold_on() {
  do {
    held_.append(std::exchange(last_.raw, {}));
    auto piece = co_await upstream_.read_body(*this);
    if (!piece) {
      last_ = {};
      co_return std::unexpected(std::move(piece.error()));
    }
    keep(*piece);
  } while (!may_commit());
  co_return Result<void>{};
}

http::Eventual<Result<void>> AnswerRelay::commit(std::string_view head) {
  http::Gather out{head};
  add_body(out, filter_ || strips_framing_ ? outgoing({}) : held());
  auto sent = send(out);  // what is not sent at once has been copied
  last_.raw = {};
  std::string().swap(held_);
  stripped_.clear();
  return sent;
}

void AnswerRelay::add_body(http::Gather& out, std::string_view data) {
  if (!makes_chunks_) {
    out.add(data);
    return;
  }
  if (!data.empty()) {
    chunk_size_ = http::ChunkSize(data.size());
    out.add(chunk_size_.line());
    out.add(data);
    out.add(http::kChunkEnd);
  }
  if (last_.end) {
    out.add(http::kLastChunk);
  }
}

http::Eventual<Result<void>> AnswerRelay::send(http::Gather out) {
  bytes_out_ += out.size();
  auto written = client_.stream().try_write(out);
  if (written && !out.empty()) {
    // The pieces may lie in the loop's scratch memory, which is not ours across a suspension.
    std::string unsent;
    for (const std::string_view piece : out.pieces()) {
      unsent.append(piece);
    }
    return send_rest(std::move(unsent));
  }
  if (!written) {
    written.error().source = ErrorSource::kClient;
  }
  return written;
}

http::Task<Result<void>> AnswerRelay::send_rest(std::string unsent) {
  co_return co_await client_.send_rest({unsent});
}

http::Task<Result<void>> AnswerRelay::move_piece() {
  auto piece = co_await upstream_.read_body(*this);
  if (!piece) {
    co_return std::unexpected(std::move(piece.error()));
  }
  last_ = *piece;
  http::Gather out;
  add_body(out, outgoing(last_.raw));
  Result<void> sent;
  if (!out.empty()) {
    sent = co_await send(out);
  }
  last_.raw = {};
  stripped_.clear();
  co_return sent;
}

}  // namespace rolter::proxy
