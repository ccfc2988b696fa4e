#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace rolter::fakes {

/// Listens where nobody should connect, and tells whether somebody did.
class TrapListener {
 public:
  explicit TrapListener(const std::string& address = "127.0.0.1", std::uint16_t port = 0)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    ::inet_pton(AF_INET, address.c_str(), &at.sin_addr);
    socklen_t size = sizeof at;
    auto* generic = reinterpret_cast<sockaddr*>(&at);
    if (::bind(socket_, generic, size) != 0 || ::listen(socket_, 16) != 0 ||
        ::getsockname(socket_, generic, &size) != 0) {
      throw std::runtime_error("cannot listen on " + address);
    }
    port_ = ntohs(at.sin_port);
  }
  ~TrapListener() { ::close(socket_); }
  TrapListener(const TrapListener&) = delete;
  TrapListener& operator=(const TrapListener&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }

  /// Connections since the last call.
  [[nodiscard]] std::size_t connections() const {
    std::size_t count = 0;
    for (int peer = ::accept(socket_, nullptr, nullptr); peer >= 0;
         peer = ::accept(socket_, nullptr, nullptr)) {
      ::close(peer);
      ++count;
    }
    return count;
  }

 private:
  int socket_;
  std::uint16_t port_ = 0;
};

}  // namespace rolter::fakes
