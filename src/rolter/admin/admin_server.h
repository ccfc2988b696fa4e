#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>

#include "rolter/admin/admin_service.h"
#include "rolter/http/listener.h"
#include "rolter/http/server_connection.h"
#include "rolter/http/task_scope.h"

namespace rolter::admin {

/// The admin listener. Lives on the control loop; every function is for that loop.
class AdminServer {
 public:
  /// Pages and scrapers: more wait in the kernel's queue.
  static constexpr std::size_t kMostConnections = 64;

  AdminServer(http::Loop& loop, http::TaskScope& scope, AdminParts parts);
  AdminServer(const AdminServer&) = delete;
  AdminServer& operator=(const AdminServer&) = delete;

  /// Shares its port with nobody. The error names the address.
  [[nodiscard]] Result<void> listen(const http::Endpoint& address);
  [[nodiscard]] std::uint16_t port() const { return port_; }

  /// Ends everything, also what waits; the scope is empty soon after.
  void stop();

 private:
  /// One connection, and what it waits for.
  struct Session {
    Session(http::Loop& loop, http::Socket socket, http::ServerLimits limits)
        : connection(loop, std::move(socket), limits), timer(loop.io().get_executor()) {}
    http::ServerConnection connection;
    http::LoopTimer timer;
  };

  [[nodiscard]] http::Task<> serve(http::Socket socket);
  [[nodiscard]] http::Task<> run(Session& session);
  [[nodiscard]] http::Task<bool> serve_request(Session& session);
  [[nodiscard]] http::Task<Reply> answer(Session& session, Request request);
  [[nodiscard]] http::Task<Reply> answer_drain(Session& session, Request request, bool drained);
  [[nodiscard]] http::Task<Reply> answer_reload(Session& session, Request request);
  [[nodiscard]] http::Task<> stream_events(Session& session);
  [[nodiscard]] http::Task<bool> send(Session& session, Reply reply, bool keep_alive);
  [[nodiscard]] http::Task<> wait(Session& session, Duration duration);
  [[nodiscard]] http::ServerLimits limits() const;

  http::Loop& loop_;
  http::TaskScope& scope_;
  proxy::SharedState& shared_;
  AdminService service_;
  http::Deadline sample_;
  std::atomic<std::size_t> open_connections_{0};
  std::optional<http::Listener> listener_;
  std::list<Session> sessions_;
  std::uint16_t port_ = 0;
  bool stopping_ = false;
};

}  // namespace rolter::admin
