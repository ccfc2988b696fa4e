#include "rolter/simulator/exchange.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <utility>

namespace rolter::simulator {
Exchange::Exchange(http::Loop& loop, http::ServerConnection& connection, std::string_view body)
    : loop_(loop),
      connection_(connection),
      path_(connection.head().target),
      body_(body),
      keep_alive_(connection.head().keep_alive) {
  if (const std::size_t mark = path_.find('?'); mark != std::string_view::npos) {
    query_ = path_.substr(mark + 1);
    path_ = path_.substr(0, mark);
  }
}

std::string Exchange::head(int status, std::string_view content_type, std::string_view framing,
                           std::string_view extra) const {
  const std::time_t now = std::chrono::system_clock::to_time_t(loop_.wall_now());
  std::string head =
      fmt::format("HTTP/1.1 {} {}\r\ndate: {:%a, %d %b %Y %H:%M:%S} GMT\r\nserver: uvicorn\r\n",
                  status, http::reason_phrase(status), fmt::gmtime(now));
  head += framing;
  if (!content_type.empty()) {
    head += fmt::format("content-type: {}\r\n", content_type);
  }
  head += extra;
  head += "vary: Origin\r\n";
  if (!keep_alive_) {
    head += "connection: close\r\n";
  }
  head += "\r\n";
  return head;
}

http::Task<> Exchange::answer(int status, std::string_view content_type, std::string body,
                              std::string extra) {
  const std::string start =
      head(status, content_type, fmt::format("content-length: {}\r\n", body.size()), extra);
  const bool with_body = method() != "HEAD";
  const auto sent = co_await connection_.send({start, with_body ? body : std::string_view()});
  answered_ = sent.has_value();
}

http::Task<> Exchange::answer_json(int status, std::string body, std::string extra) {
  return answer(status, "application/json", std::move(body), std::move(extra));
}

http::Task<> Exchange::answer_fault(ApiFault fault, FaultShape shape) {
  return answer_json(fault.status, fault_body(fault, shape));
}

http::Task<bool> Exchange::begin_events(std::string extra) {
  chunked_ = connection_.head().minor_version > 0;
  keep_alive_ = keep_alive_ && chunked_;
  const std::string start = head(200, "text/event-stream; charset=utf-8",
                                 chunked_ ? "transfer-encoding: chunked\r\n" : "", extra);
  co_return (co_await connection_.send({start})).has_value();
}

http::Task<bool> Exchange::send_events(std::vector<std::string> pieces) {
  std::string out;
  for (const std::string& piece : pieces) {
    out += chunked_ ? fmt::format("{:x}\r\n{}\r\n", piece.size(), piece) : piece;
  }
  co_return (co_await connection_.send({out})).has_value();
}

http::Task<> Exchange::end_events() {
  answered_ = !chunked_ || (co_await connection_.send({"0\r\n\r\n"})).has_value();
}

}  // namespace rolter::simulator
