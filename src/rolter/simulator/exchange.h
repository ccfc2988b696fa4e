#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "rolter/http/server_connection.h"
#include "rolter/simulator/api_fault.h"

namespace rolter::simulator {

/// One request that has been read, and the writing of its answer as uvicorn writes it. The
/// connection must outlive it.
class Exchange {
 public:
  Exchange(http::Loop& loop, http::ServerConnection& connection, std::string_view body);

  [[nodiscard]] std::string_view method() const { return connection_.head().method; }
  [[nodiscard]] std::string_view path() const { return path_; }
  [[nodiscard]] std::string_view query() const { return query_; }
  [[nodiscard]] const http::Fields& fields() const { return connection_.head().fields; }
  [[nodiscard]] std::string_view body() const { return body_; }

  /// The whole answer. `extra` are further header lines, each with its CRLF.
  [[nodiscard]] http::Task<> answer(int status, std::string_view content_type, std::string body,
                                    std::string extra = {});
  [[nodiscard]] http::Task<> answer_json(int status, std::string body, std::string extra = {});
  [[nodiscard]] http::Task<> answer_fault(ApiFault fault, FaultShape shape);

  /// A stream: the head goes out at once, every piece as one chunk (HTTP/1.0: as it is), the end
  /// only when the stream is complete. False when the client is gone.
  [[nodiscard]] http::Task<bool> begin_events(std::string extra = {});
  [[nodiscard]] http::Task<bool> send_events(std::vector<std::string> pieces);
  [[nodiscard]] http::Task<> end_events();

  /// Calls back once when the client closes, or half-closes, its connection.
  void watch_client(std::function<void()> on_gone) { connection_.watch(std::move(on_gone)); }
  void unwatch_client() { connection_.unwatch(); }

  /// Whether the connection can take another request.
  [[nodiscard]] bool reusable() const { return answered_ && keep_alive_; }
  [[nodiscard]] bool answered() const { return answered_; }

 private:
  [[nodiscard]] std::string head(int status, std::string_view content_type,
                                 std::string_view framing, std::string_view extra) const;

  http::Loop& loop_;
  http::ServerConnection& connection_;
  std::string_view path_;
  std::string_view query_;
  std::string_view body_;
  bool keep_alive_;
  bool chunked_ = true;
  bool answered_ = false;  // to the end
};

}  // namespace rolter::simulator
