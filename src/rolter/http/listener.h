#pragma once

#include <atomic>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "rolter/base/error.h"
#include "rolter/http/asio.h"
#include "rolter/http/loop.h"

namespace rolter::http {

using Acceptor = asio::basic_socket_acceptor<asio::ip::tcp, Executor>;

/// Whether other sockets may listen on the same address.
enum class PortSharing : std::uint8_t {
  kShared,     // SO_REUSEPORT: each loop has its own queue of connections
  kExclusive,  // a port that somebody else listens on is an error
};

/// A listening socket. The error names the address.
[[nodiscard]] Result<Acceptor> listen_on(asio::io_context& io, const Endpoint& address,
                                         PortSharing sharing = PortSharing::kShared);

/// A listening socket that somebody else has made, by its descriptor, which stays theirs: this is a
/// duplicate. The error says what is wrong with it.
[[nodiscard]] Result<Acceptor> listen_on_socket(asio::io_context& io, int descriptor);

/// Accepts on one loop and hands each connection to `on_connection`. While `open_connections` (all
/// loops') is at `max_connections`, new clients wait in the kernel's queue.
class Listener {
 public:
  struct Admission {
    std::atomic<std::size_t>& open_connections;
    std::size_t max_connections;
  };

  Listener(Loop& loop, Acceptor acceptor, Admission admission,
           std::function<void(Socket)> on_connection);

  /// Runs until close().
  [[nodiscard]] Task<> run();
  void close();
  [[nodiscard]] Endpoint address() const;

 private:
  [[nodiscard]] Task<> wait_a_tick();

  Loop& loop_;
  Acceptor acceptor_;
  Admission admission_;
  std::function<void(Socket)> on_connection_;
  bool closed_ = false;
};

}  // namespace rolter::http
