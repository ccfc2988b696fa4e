#pragma once

#include <chrono>
#include <cstdint>
#include <span>

#include <sys/epoll.h>

namespace rolter::loadgen {

using Nanoseconds = std::int64_t;

/// Monotonic time. This program measures time; nothing here is replayed.
[[nodiscard]] Nanoseconds now_ns();

/// An epoll instance whose events carry a number of the caller's. Ends the program when the kernel
/// refuses: there is nothing to measure then.
class Epoll {
 public:
  Epoll();
  ~Epoll();
  Epoll(const Epoll&) = delete;
  Epoll& operator=(const Epoll&) = delete;

  void add(int fd, std::uint64_t id) const;
  /// Reading is always watched; writing only while a write is pending.
  void watch_writing(int fd, std::uint64_t id, bool writing) const;
  void remove(int fd) const;

  /// Events within `timeout`; negative waits for ever. Sub-millisecond waits are honoured.
  [[nodiscard]] std::span<const epoll_event> wait(Nanoseconds timeout);

 private:
  int fd_;
  epoll_event events_[512]{};
};

/// Non-blocking loopback sockets without Nagle's delay. End the program on failure, but connect
/// gives -1.
[[nodiscard]] int listen_loopback(std::uint16_t port);
[[nodiscard]] int connect_loopback(std::uint16_t port);
[[nodiscard]] int accept_connection(int listener);  // -1 = none waits

}  // namespace rolter::loadgen
