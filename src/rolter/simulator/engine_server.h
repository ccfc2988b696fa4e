#pragma once

#include <atomic>
#include <cstddef>
#include <list>
#include <optional>

#include "rolter/http/listener.h"
#include "rolter/http/server_connection.h"
#include "rolter/http/task_scope.h"
#include "rolter/simulator/engine_service.h"
#include "rolter/simulator/wakeup.h"

namespace rolter::simulator {

/// The HTTP server of one engine: accepts, reads requests, lets handlers answer, keeps connections
/// alive for as long as uvicorn does. One loop; its tasks belong to the scope.
class EngineServer {
 public:
  EngineServer(EngineService& service, http::TaskScope& scope);

  [[nodiscard]] Result<void> listen();
  [[nodiscard]] std::uint16_t port() const { return port_; }

  void close_listener();
  /// Breaks the connections that wait for a request, or all.
  enum class Which : std::uint8_t { kIdle, kAll };
  void abort_connections(Which which);

  [[nodiscard]] std::size_t busy() const { return busy_; }
  /// Until no request is being answered, or `latest`.
  [[nodiscard]] http::Task<> wait_until_quiet(TimePoint latest);
  void stop_waiting() { quiet_.notify(); }

 private:
  struct Open {
    http::ServerConnection* connection = nullptr;
    bool busy = false;
  };

  [[nodiscard]] http::Task<> serve(http::Socket socket);
  [[nodiscard]] http::Task<bool> serve_request(http::ServerConnection& connection, Open& open);
  [[nodiscard]] http::Task<> refuse(http::ServerConnection& connection, Error error);

  EngineService& service_;
  http::TaskScope& scope_;
  std::atomic<std::size_t> admitted_{0};
  std::optional<http::Listener> listener_;
  std::list<Open> open_;
  std::size_t busy_ = 0;
  std::uint16_t port_ = 0;
  bool closing_ = false;
  Wakeup quiet_;
};

}  // namespace rolter::simulator
