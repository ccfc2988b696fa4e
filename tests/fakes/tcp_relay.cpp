#include "tests/fakes/tcp_relay.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace rolter::fakes {
namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

/// Moves what has come from one socket to the other; false at the end.
bool move_some(int from, int to) {
  std::array<char, 16'384> bytes;
  const ssize_t count = ::recv(from, bytes.data(), bytes.size(), 0);
  if (count <= 0) {
    return false;
  }
  std::string_view left(bytes.data(), static_cast<std::size_t>(count));
  while (!left.empty()) {
    const ssize_t sent = ::send(to, left.data(), left.size(), MSG_NOSIGNAL);
    if (sent <= 0) {
      return false;
    }
    left.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

/// Small messages leave at once, as on the connections that this one stands between.
void send_at_once(int socket) {
  const int yes = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

void relay(int one, int other) {
  send_at_once(one);
  send_at_once(other);
  std::array<pollfd, 2> ends{
      {{.fd = one, .events = POLLIN, .revents = 0}, {.fd = other, .events = POLLIN, .revents = 0}}};
  while (::poll(ends.data(), ends.size(), -1) > 0) {
    if ((ends[0].revents != 0 && !move_some(one, other)) ||
        (ends[1].revents != 0 && !move_some(other, one))) {
      return;
    }
  }
}

}  // namespace

TcpRelay::TcpRelay(std::uint16_t to) : to_(to) {
  restore();
}

void TcpRelay::restore() {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address = loopback(port_);
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener_, generic, size) != 0 || ::listen(listener_, 64) != 0 ||
      ::getsockname(listener_, generic, &size) != 0) {
    throw std::runtime_error("a relay cannot listen");
  }
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { accept_all(); });
}

void TcpRelay::cut() {
  if (listener_ < 0) {
    return;
  }
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  ::close(std::exchange(listener_, -1));
  {
    const std::lock_guard lock(mutex_);
    for (const int socket : open_) {
      ::shutdown(socket, SHUT_RDWR);
    }
  }
  for (std::thread& connection : std::exchange(connections_, {})) {
    connection.join();
  }
}

void TcpRelay::accept_all() {
  while (true) {
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) {
      return;
    }
    const std::lock_guard lock(mutex_);
    open_.insert(client);
    connections_.emplace_back([this, client] { pass(client); });
  }
}

void TcpRelay::pass(int client) {
  const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(to_);
  if (::connect(server, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
    relay(client, server);
  }
  ::close(server);
  const std::lock_guard lock(mutex_);
  open_.erase(client);
  ::close(client);
}

}  // namespace rolter::fakes
