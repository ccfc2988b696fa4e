#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace rolter::fakes {

/// The way to a port on loopback, by a port of its own, which can be cut while both ends live. It
/// has threads of its own; one thread may call it.
class TcpRelay {
 public:
  explicit TcpRelay(std::uint16_t to);
  ~TcpRelay() { cut(); }
  TcpRelay(const TcpRelay&) = delete;
  TcpRelay& operator=(const TcpRelay&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }

  /// What is open breaks, and the port refuses.
  void cut();
  /// Takes connections again, on the same port.
  void restore();

 private:
  void accept_all();
  void pass(int client);

  std::uint16_t to_;
  std::uint16_t port_ = 0;
  int listener_ = -1;  // -1 while cut
  std::mutex mutex_;   // for what follows
  std::set<int> open_;
  std::vector<std::thread> connections_;
  std::thread acceptor_;
};

}  // namespace rolter::fakes
