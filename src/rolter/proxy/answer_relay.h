#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "rolter/base/error.h"
#include "rolter/http/chunk_writer.h"
#include "rolter/http/server_connection.h"
#include "rolter/http/upstream_connection.h"
#include "rolter/openai/stream_observer.h"
#include "rolter/openai/usage_filter.h"

namespace rolter::proxy {

/// Passes one answer from a replica to the client. First it is held: head and content-free events
/// until the first content, a JSON body until it is whole, at most 64 KiB of either, so that a
/// replica that dies in prefill or has nothing to say can still be left for another. Then it is
/// committed and relayed byte for byte as it comes; a slow client slows the replica down, and at
/// most what one read brought is kept for it. An observer looks on.
class AnswerRelay final : public http::BodySink {
 public:
  static constexpr std::size_t kMaxHeldBytes = 65'536;

  /// `observer` may be null: then nothing is held beyond the first bytes of the body.
  AnswerRelay(http::ServerConnection& client, http::UpstreamConnection& upstream,
              std::unique_ptr<openai::AnswerObserver> observer);

  /// Reads until the answer may be committed. Errors are the replica's.
  [[nodiscard]] http::Eventual<Result<void>> hold();

  /// What is held of the body, as framed.
  [[nodiscard]] std::string_view held() const { return held_.empty() ? last_.raw : held_; }
  [[nodiscard]] bool complete() const { return last_.end; }
  [[nodiscard]] const openai::AnswerObserver* observer() const { return observer_.get(); }

  /// For HTTP/1.0 clients: sends the data without its chunk framing. Before hold().
  void strip_framing() { strips_framing_ = true; }

  /// For an answer that is not to be relayed but read: holds all of it, up to kMaxHeldBytes. Before
  /// hold().
  void hold_whole() {
    strips_framing_ = true;
    holds_whole_ = true;
  }
  /// After hold_whole() and hold(): the body without its framing.
  [[nodiscard]] std::string_view whole() const { return stripped_; }

  /// For a client that has been promised chunks, from a replica that sends none. Before commit().
  void make_chunks() { makes_chunks_ = true; }

  /// Takes the event out that the client has not asked for (openai::UsageFilter). Of a body whose
  /// length the head tells nothing can be taken: it passes as it is. Before hold().
  void filter_usage(http::Framing framing);

  /// Sends `head` and what is held, in one write. Errors are the client's.
  [[nodiscard]] http::Eventual<Result<void>> commit(std::string_view head);

  /// Relays the rest. `on_progress` is called after each piece. Errors say whose fault it is.
  template <typename OnProgress>
  [[nodiscard]] http::Eventual<Result<void>> relay(OnProgress& on_progress) {
    if (last_.end) {
      return Result<void>{};
    }
    return relay_rest(on_progress);
  }

  [[nodiscard]] std::uint64_t bytes_out() const { return bytes_out_; }

  void on_data(std::string_view bytes) override;

 private:
  template <typename OnProgress>
  [[nodiscard]] http::Task<Result<void>> relay_rest(OnProgress& on_progress) {
    while (!last_.end) {
      if (auto moved = co_await move_piece(); !moved) {
        co_return moved;
      }
      on_progress();
    }
    co_return Result<void>{};
  }
  [[nodiscard]] bool may_commit() const;
  [[nodiscard]] http::Task<Result<void>> move_piece();
  [[nodiscard]] http::Task<Result<void>> hold_on();
  void keep(http::UpstreamConnection::Piece piece);
  [[nodiscard]] http::Eventual<Result<void>> send(http::Gather out);
  void add_body(http::Gather& out, std::string_view data);
  [[nodiscard]] http::Task<Result<void>> send_rest(std::string unsent);
  [[nodiscard]] std::string_view outgoing(std::string_view raw) {
    return filter_ ? filtered() : strips_framing_ ? std::string_view(stripped_) : raw;
  }
  [[nodiscard]] std::string_view filtered();

  http::ServerConnection& client_;
  http::UpstreamConnection& upstream_;
  std::unique_ptr<openai::AnswerObserver> observer_;
  std::string held_;      // pieces before the last one
  std::string stripped_;  // data of the last piece, or of all held ones
  std::unique_ptr<openai::UsageFilter> filter_;
  std::string framed_;  // what it has left, in a chunk
  http::UpstreamConnection::Piece last_;
  std::uint64_t bytes_out_ = 0;
  http::ChunkSize chunk_size_{0};
  bool strips_framing_ = false;
  bool holds_whole_ = false;
  bool makes_chunks_ = false;
};

}  // namespace rolter::proxy
