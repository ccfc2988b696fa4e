#include "rolter/admin/admin_server.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>
#include <memory>
#include <string>
#include <utility>

#include "rolter/http/unread_request.h"
#include "rolter/proxy/client_answer.h"
#include "rolter/proxy/upstream_request.h"

namespace rolter::admin {
namespace {

constexpr std::chrono::seconds kSampleInterval{1};
constexpr std::chrono::milliseconds kDrainCheck{50};
constexpr std::chrono::seconds kHeadTimeout{10};
constexpr std::chrono::seconds kBodyTimeout{60};
constexpr std::chrono::seconds kIdleTimeout{75};
constexpr std::chrono::seconds kLongestReload{60};

// A page may not be framed, nor an answer be taken for anything but what it says it is.
constexpr std::string_view kSafety =
    "Cache-Control: no-store\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "X-Frame-Options: DENY\r\n";

constexpr std::string_view kEventStreamHead =
    "HTTP/1.1 200 OK\r\n"
    "Content-Type: text/event-stream\r\n"
    "Cache-Control: no-store\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "X-Accel-Buffering: no\r\n"
    "Connection: close\r\n\r\n";

Request request_of(const http::RequestHead& head, std::string_view body) {
  const std::string_view target = proxy::origin_form(head.target);
  const std::string_view path = proxy::path_of(target);
  Request request{.method = head.method,
                  .path = path,
                  .query = target.substr(path.size()),
                  .fields = head.fields,
                  .body = body};
  if (!request.query.empty()) {
    request.query.remove_prefix(1);
  }
  return request;
}

bool is_worth_an_answer(const Error& error) {
  return error.kind == ErrorKind::kProtocol || error.kind == ErrorKind::kLimitExceeded ||
         error.kind == ErrorKind::kTimeout;
}

}  // namespace

AdminServer::AdminServer(http::Loop& loop, http::TaskScope& scope, AdminParts parts)
    : loop_(loop),
      scope_(scope),
      shared_(parts.shared),
      service_(loop, std::move(parts)),
      sample_(loop.wheel(), [this] {
        service_.sample_traffic();
        sample_.arm(kSampleInterval);
      }) {}

http::ServerLimits AdminServer::limits() const {
  const auto state = shared_.gateway.load();
  return {.head = state->limits.head,
          .max_body_bytes = state->limits.max_body_bytes,
          .head_timeout = kHeadTimeout,
          .body_timeout = kBodyTimeout,
          .idle_timeout = kIdleTimeout};
}

Result<void> AdminServer::listen(const http::Endpoint& address) {
  auto acceptor = http::listen_on(loop_.io(), address, http::PortSharing::kExclusive);
  if (!acceptor) {
    return std::unexpected(std::move(acceptor.error()));
  }
  listener_.emplace(loop_, std::move(*acceptor),
                    http::Listener::Admission{open_connections_, kMostConnections},
                    [this](http::Socket socket) {
                      open_connections_.fetch_add(1, std::memory_order_relaxed);
                      scope_.spawn("admin-session", serve(std::move(socket)));
                    });
  port_ = listener_->address().port();
  scope_.spawn("admin-listener", listener_->run());
  service_.sample_traffic();
  sample_.arm(kSampleInterval);
  return {};
}

void AdminServer::stop() {
  stopping_ = true;
  sample_.disarm();
  if (listener_) {
    listener_->close();
  }
  for (Session& session : sessions_) {
    session.connection.abort();
    session.timer.cancel();
  }
}

http::Task<> AdminServer::serve(http::Socket socket) {
  const auto session = sessions_.emplace(sessions_.end(), loop_, std::move(socket), limits());
  if (!stopping_) {
    co_await run(*session);
  }
  sessions_.erase(session);
  open_connections_.fetch_sub(1, std::memory_order_relaxed);
}

http::Task<> AdminServer::run(Session& session) {
  while (co_await serve_request(session)) {
    session.connection.finish_request();
  }
}

http::Task<bool> AdminServer::serve_request(Session& session) {
  http::ServerConnection& connection = session.connection;
  auto head = co_await connection.read_head();
  Result<std::string_view> body;
  if (head) {
    body = co_await connection.read_body();
  }
  if (!head || !body) {
    const Error& error = head ? body.error() : head.error();
    if (is_worth_an_answer(error)) {
      co_await send(session, refusal(http::status_of_unread(error), "bad_request", error.message),
                    false);
      co_await connection.close_gently();
    }
    co_return false;
  }
  const Request request = request_of(connection.head(), *body);
  const bool keep_alive = connection.head().keep_alive && !stopping_;
  if (auto refused = service_.check(request)) {
    co_return co_await send(session, std::move(*refused), keep_alive);
  }
  if (request.path == "/admin/events" && request.method == "GET") {
    co_await stream_events(session);
    co_return false;
  }
  Reply reply = co_await answer(session, request);
  co_return co_await send(session, std::move(reply), keep_alive);
}

http::Task<Reply> AdminServer::answer(Session& session, Request request) {
  const bool moves = request.path == "/admin/drain" || request.path == "/admin/undrain" ||
                     request.path == "/admin/reload";
  if (!moves) {
    co_return service_.answer(request);
  }
  if (request.method != "POST") {
    co_return method_not_allowed("POST");
  }
  if (request.path == "/admin/reload") {
    co_return co_await answer_reload(session, request);
  }
  co_return co_await answer_drain(session, request, request.path == "/admin/drain");
}

http::Task<Reply> AdminServer::answer_drain(Session& session, Request request, bool drained) {
  auto order = AdminService::read_drain_order(request.body);
  if (!order) {
    co_return std::move(order.error());
  }
  auto replica = service_.drain(*order, drained);
  if (!replica) {
    co_return std::move(replica.error());
  }
  const TimePoint latest = loop_.now() + order->wait;
  while (drained && (*replica)->in_flight() > 0 && loop_.now() < latest && !stopping_ &&
         !session.connection.stream().peer_has_left()) {
    co_await wait(session, kDrainCheck);
  }
  co_return drain_reply(request, **replica);
}

http::Task<Reply> AdminServer::answer_reload(Session& session, Request /*request*/) {
  // The answer may come after this session has ended.
  struct Answer {
    std::optional<ReloadOutcome> outcome;
    http::LoopTimer* waiting = nullptr;
  };
  auto answer = std::make_shared<Answer>();
  answer->waiting = &session.timer;
  const bool asked = service_.reload([answer](ReloadOutcome outcome) {
    answer->outcome = std::move(outcome);
    if (answer->waiting != nullptr) {
      answer->waiting->cancel();
    }
  });
  if (!asked) {
    co_return refusal(501, "no_reload", "this gateway was not started from a file");
  }
  if (!answer->outcome && !stopping_) {
    co_await wait(session, kLongestReload);
  }
  answer->waiting = nullptr;
  co_return answer->outcome ? reload_reply(*answer->outcome)
                            : refusal(504, "reload_timeout", "the reload goes on; see the log");
}

http::Task<> AdminServer::stream_events(Session& session) {
  if (!co_await session.connection.send({kEventStreamHead})) {
    co_return;
  }
  session.connection.release_request();
  // Picks keep their scores for as long as somebody looks on.
  struct Onlooker {
    explicit Onlooker(std::atomic<std::uint32_t>& counter) : onlookers(counter) { ++onlookers; }
    Onlooker(const Onlooker&) = delete;
    Onlooker& operator=(const Onlooker&) = delete;
    ~Onlooker() { --onlookers; }
    std::atomic<std::uint32_t>& onlookers;
  };
  const Onlooker onlooker(shared_.onlookers);
  DecisionCursor cursor;
  while (!stopping_) {
    const std::string events = service_.events(cursor);
    if (!co_await session.connection.send({events})) {
      co_return;
    }
    co_await wait(session, kSampleInterval);
  }
}

http::Task<bool> AdminServer::send(Session& session, Reply reply, bool keep_alive) {
  proxy::OwnAnswer answer{.status = reply.status, .content_type = reply.content_type};
  answer.body = std::move(reply.body);
  answer.extra_fields = std::move(reply.extra_fields);
  answer.extra_fields += kSafety;
  answer.keep_alive = keep_alive;
  answer.body_suppressed = session.connection.head().method == "HEAD";
  std::string bytes;
  proxy::write_own_answer(answer, {}, bytes);
  const auto sent = co_await session.connection.send({bytes});
  co_return sent&& keep_alive;
}

http::Task<> AdminServer::wait(Session& session, Duration duration) {
  if (!stopping_) {
    session.timer.expires_after(duration);
    co_await session.timer.async_wait(boost::asio::as_tuple(boost::asio::deferred));
  }
}

}  // namespace rolter::admin
