#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rolter/http/asio.h"

namespace rolter::fakes {

/// A tiny HTTP server on loopback for what asks replicas beside requests: each connection brings
/// one head, which `respond` answers with raw bytes, or with nullopt to leave it hanging. Lives on
/// the test's own io_context.
class HttpResponder {
 public:
  using Respond = std::function<std::optional<std::string>(const std::string& head)>;

  HttpResponder(http::asio::io_context& io, Respond respond_with)
      : respond(std::move(respond_with)), io_(io) {
    listen();
  }
  ~HttpResponder() { stop_listening(); }
  HttpResponder(const HttpResponder&) = delete;
  HttpResponder& operator=(const HttpResponder&) = delete;

  /// From now on connects are refused; what is open ends.
  void stop_listening() {
    state_->open = false;
    boost::system::error_code ignored;
    state_->acceptor.close(ignored);
    for (auto& socket : state_->sockets) {
      socket->close(ignored);
    }
  }

  /// On the same port as before.
  void listen() {
    state_ = std::make_shared<State>(io_);
    const http::asio::ip::tcp::endpoint at{http::asio::ip::address_v4::loopback(), port_};
    state_->acceptor.open(at.protocol());
    state_->acceptor.set_option(http::asio::socket_base::reuse_address(true));
    state_->acceptor.bind(at);
    state_->acceptor.listen();
    port_ = state_->acceptor.local_endpoint().port();
    accept(state_);
  }

  [[nodiscard]] http::Endpoint endpoint() const {
    return {http::asio::ip::address_v4::loopback(), port_};
  }
  /// Heads seen, oldest first.
  [[nodiscard]] const std::vector<std::string>& heads() const { return heads_; }

  Respond respond;

 private:
  using TcpSocket = http::asio::ip::tcp::socket;
  struct State {
    explicit State(http::asio::io_context& io) : acceptor(io) {}
    http::asio::ip::tcp::acceptor acceptor;
    std::list<std::shared_ptr<TcpSocket>> sockets;
    bool open = true;
  };

  void accept(const std::shared_ptr<State>& state) {
    state->acceptor.async_accept([this, state](boost::system::error_code error, TcpSocket socket) {
      if (error || !state->open) {
        return;
      }
      auto held = std::make_shared<TcpSocket>(std::move(socket));
      state->sockets.push_back(held);
      read(state, held, std::make_shared<std::string>());
      accept(state);
    });
  }

  void read(const std::shared_ptr<State>& state, const std::shared_ptr<TcpSocket>& socket,
            const std::shared_ptr<std::string>& buffer) {
    http::asio::async_read_until(
        *socket, http::asio::dynamic_buffer(*buffer), "\r\n\r\n",
        [this, state, socket, buffer](boost::system::error_code error, std::size_t) {
          if (error || !state->open) {
            state->sockets.remove(socket);
            return;
          }
          heads_.push_back(*buffer);
          if (auto bytes = respond(*buffer)) {
            write(state, socket, std::make_shared<std::string>(std::move(*bytes)));
          }
        });
  }

  void write(const std::shared_ptr<State>& state, const std::shared_ptr<TcpSocket>& socket,
             const std::shared_ptr<std::string>& bytes) {
    http::asio::async_write(*socket, http::asio::buffer(*bytes),
                            [state, socket, bytes](boost::system::error_code, std::size_t) {
                              boost::system::error_code ignored;
                              socket->close(ignored);
                              state->sockets.remove(socket);
                            });
  }

  http::asio::io_context& io_;
  std::uint16_t port_ = 0;
  std::shared_ptr<State> state_;
  std::vector<std::string> heads_;
};

/// A whole answer with a length.
inline std::string http_answer(int status, const std::string& body) {
  return "HTTP/1.1 " + std::to_string(status) +
         " Status\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace rolter::fakes
