#include "rolter/simulator/engine_server.h"

#include <boost/asio/ip/address.hpp>
#include <utility>

#include "rolter/http/unread_request.h"
#include "rolter/simulator/handlers.h"

namespace rolter::simulator {
namespace {

constexpr std::size_t kMostConnections = 100'000;
constexpr std::size_t kMostHeadBytes = std::size_t{16} << 20U;  // token ids may come in a header
constexpr std::size_t kMostHeadFields = 256;

}  // namespace

EngineServer::EngineServer(EngineService& service, http::TaskScope& scope)
    : service_(service), scope_(scope), quiet_(service.loop()) {}

Result<void> EngineServer::listen() {
  boost::system::error_code ec;
  const auto address = http::asio::ip::make_address(service_.options().host, ec);
  if (ec) {
    return fail(ErrorKind::kInvalidInput,
                "host \"" + service_.options().host + "\" is not an IP address");
  }
  auto acceptor =
      http::listen_on(service_.loop().io(), http::Endpoint(address, service_.options().port));
  if (!acceptor) {
    return std::unexpected(std::move(acceptor.error()));
  }
  listener_.emplace(
      service_.loop(), std::move(*acceptor), http::Listener::Admission{admitted_, kMostConnections},
      [this](http::Socket socket) { scope_.spawn("connection", serve(std::move(socket))); });
  port_ = listener_->address().port();
  scope_.spawn("listener", listener_->run());
  return {};
}

void EngineServer::close_listener() {
  closing_ = true;
  if (listener_) {
    listener_->close();
  }
}

void EngineServer::abort_connections(Which which) {
  for (const Open& open : open_) {
    if (which == Which::kAll || !open.busy) {
      open.connection->abort();
    }
  }
}

http::Task<> EngineServer::wait_until_quiet(TimePoint latest) {
  while (busy_ > 0 && !closing_ && service_.loop().now() < latest) {
    co_await quiet_.wait(latest);
  }
}

http::Task<> EngineServer::serve(http::Socket socket) {
  // A connection that has never asked anything stays open; the 5 s count from an answer.
  http::ServerLimits limits;
  limits.head.max_bytes = kMostHeadBytes;
  limits.head.max_fields = kMostHeadFields;
  limits.max_body_bytes = service_.options().max_body_bytes;
  http::ServerConnection connection(service_.loop(), std::move(socket), limits);
  const auto entry = open_.insert(open_.end(), Open{&connection, false});
  while (co_await serve_request(connection, *entry)) {
    connection.set_idle_timeout(service_.options().keep_alive);
    if (closing_) {
      break;
    }
  }
  open_.erase(entry);
}

/// True when the connection can take another request.
http::Task<bool> EngineServer::serve_request(http::ServerConnection& connection, Open& open) {
  if (auto head = co_await connection.read_head(); !head) {
    co_await refuse(connection, std::move(head.error()));
    co_return false;
  }
  auto body = co_await connection.read_body();
  if (!body) {
    co_await refuse(connection, std::move(body.error()));
    co_return false;
  }
  open.busy = true;
  ++busy_;
  Exchange exchange(service_.loop(), connection, *body);
  co_await dispatch(service_, exchange);
  open.busy = false;
  if (--busy_ == 0) {
    quiet_.notify();
  }
  connection.finish_request();
  if (!exchange.reusable()) {
    if (exchange.answered()) {
      co_await connection.close_gently();
    } else {
      connection.abort();
    }
  }
  co_return exchange.reusable();
}

http::Task<> EngineServer::refuse(http::ServerConnection& connection, Error error) {
  if (error.kind == ErrorKind::kConnectionClosed || error.kind == ErrorKind::kConnectionReset ||
      error.kind == ErrorKind::kCancelled) {
    co_return;
  }
  // uvicorn's words for what is not HTTP.
  const std::string text = "Invalid HTTP request received.";
  const std::string answer = "HTTP/1.1 " + std::to_string(http::status_of_unread(error)) +
                             " Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\n"
                             "connection: close\r\ncontent-length: " +
                             std::to_string(text.size()) + "\r\n\r\n" + text;
  const auto sent = co_await connection.send({answer});
  if (sent) {
    co_await connection.close_gently();
  }
}

}  // namespace rolter::simulator
