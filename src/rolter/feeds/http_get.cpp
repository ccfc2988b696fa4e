#include "rolter/feeds/http_get.h"

#include <fmt/format.h>

#include <utility>

namespace rolter::feeds {
namespace {

class BodyCollector final : public http::BodySink {
 public:
  void on_data(std::string_view bytes) override { body.append(bytes); }
  std::string body;
};

}  // namespace

std::string render_get(const HttpSource& source, std::string_view path) {
  return fmt::format(
      "GET {} HTTP/1.1\r\n{}User-Agent: rolter\r\nAccept: */*\r\nConnection: close\r\n\r\n", path,
      source.fields);
}

std::string render_post(const HttpSource& source, std::string_view path, std::string_view json) {
  return fmt::format(
      "POST {} HTTP/1.1\r\n{}User-Agent: rolter\r\nAccept: */*\r\n"
      "Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}",
      path, source.fields, json.size(), json);
}

HttpGet::HttpGet(http::Loop& loop)
    : loop_(loop), deadline_(loop.wheel(), [this] {
        timed_out_ = true;
        end_now();
      }) {}

void HttpGet::abort() {
  aborted_ = true;
  end_now();
}

void HttpGet::end_now() {
  if (dialer_) {
    dialer_->abort();
  }
  if (connection_) {
    connection_->abort();
  }
}

http::Task<Result<GetAnswer>> HttpGet::run(HttpSource source, std::string head, GetLimits limits) {
  if (aborted_) {
    co_return fail(ErrorKind::kCancelled, "cancelled");
  }
  timed_out_ = false;
  deadline_.arm(limits.timeout);
  dialer_ = std::make_unique<http::Dialer>(loop_);
  auto dialed =
      co_await dialer_->dial(source.addresses->load(), source.egress, Duration::zero(), source.tls);
  dialer_.reset();
  Result<GetAnswer> answer;
  if (!dialed) {
    answer = std::unexpected(std::move(dialed.error()));
  } else if (!timed_out_ && !aborted_) {
    connection_ = std::move(*dialed);
    answer = co_await exchange(std::move(head), limits.max_body_bytes);
    connection_.reset();
  }
  deadline_.disarm();
  if (aborted_) {
    co_return fail(ErrorKind::kCancelled, "cancelled");
  }
  if (timed_out_) {
    co_return fail(ErrorKind::kTimeout, "no answer in time", ErrorSource::kUpstream);
  }
  co_return answer;
}

http::Task<Result<GetAnswer>> HttpGet::exchange(std::string head, std::size_t max_bytes) {
  if (auto sent = co_await connection_->send(http::Gather{head}); !sent) {
    co_return std::unexpected(std::move(sent.error()));
  }
  if (auto headed = co_await connection_->read_head(/*to_head_request=*/false); !headed) {
    co_return std::unexpected(std::move(headed.error()));
  }
  GetAnswer answer{.status = connection_->head().status, .body = {}};
  BodyCollector collector;
  for (bool end = false; !end;) {
    const auto piece = co_await connection_->read_body(collector);
    if (!piece) {
      co_return std::unexpected(piece.error());
    }
    if (collector.body.size() > max_bytes) {
      co_return fail(ErrorKind::kLimitExceeded, fmt::format("answer over {} bytes", max_bytes),
                     ErrorSource::kUpstream);
    }
    end = piece->end;
  }
  answer.body = std::move(collector.body);
  co_return answer;
}

}  // namespace rolter::feeds
