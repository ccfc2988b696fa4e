#include "bench/loadgen/epoll.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

namespace rolter::loadgen {
namespace {

void require(bool ok, const char* what) {
  if (!ok) {
    std::perror(what);
    std::exit(1);
  }
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

void set_option(int fd, int level, int option) {
  const int one = 1;
  require(setsockopt(fd, level, option, &one, sizeof one) == 0, "setsockopt");
}

}  // namespace

Nanoseconds now_ns() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

Epoll::Epoll() : fd_(epoll_create1(EPOLL_CLOEXEC)) {
  require(fd_ >= 0, "epoll_create1");
}

Epoll::~Epoll() {
  close(fd_);
}

void Epoll::add(int fd, std::uint64_t id) const {
  epoll_event event{.events = EPOLLIN, .data = {.u64 = id}};
  require(epoll_ctl(fd_, EPOLL_CTL_ADD, fd, &event) == 0, "epoll_ctl add");
}

void Epoll::watch_writing(int fd, std::uint64_t id, bool writing) const {
  epoll_event event{.events = EPOLLIN | (writing ? EPOLLOUT : 0U), .data = {.u64 = id}};
  require(epoll_ctl(fd_, EPOLL_CTL_MOD, fd, &event) == 0, "epoll_ctl mod");
}

void Epoll::remove(int fd) const {
  epoll_ctl(fd_, EPOLL_CTL_DEL, fd, nullptr);
}

std::span<const epoll_event> Epoll::wait(Nanoseconds timeout) {
  constexpr Nanoseconds kSecond = 1'000'000'000;
  const timespec limit{.tv_sec = timeout / kSecond, .tv_nsec = timeout % kSecond};
  const int count = epoll_pwait2(fd_, events_, static_cast<int>(std::size(events_)),
                                 timeout < 0 ? nullptr : &limit, nullptr);
  require(count >= 0 || errno == EINTR, "epoll_pwait2");
  return {events_, count > 0 ? static_cast<std::size_t>(count) : 0};
}

int listen_loopback(std::uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  require(fd >= 0, "socket");
  set_option(fd, SOL_SOCKET, SO_REUSEADDR);
  const sockaddr_in address = loopback(port);
  require(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0, "bind");
  require(listen(fd, 4096) == 0, "listen");
  return fd;
}

int connect_loopback(std::uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  require(fd >= 0, "socket");
  const sockaddr_in address = loopback(port);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    close(fd);
    return -1;
  }
  set_option(fd, IPPROTO_TCP, TCP_NODELAY);
  return fd;
}

int accept_connection(int listener) {
  const int fd = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd >= 0) {
    set_option(fd, IPPROTO_TCP, TCP_NODELAY);
  }
  return fd;
}

}  // namespace rolter::loadgen
