#include "rolter/http/listener.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <cerrno>
#include <cstring>
#include <utility>

#include "rolter/http/socket_options.h"

namespace rolter::http {
namespace {

// nginx's default is 511; a burst of clients after a restart must not be refused.
constexpr int kBacklog = 4'096;

using ReusePort = asio::detail::socket_option::boolean<SOL_SOCKET, SO_REUSEPORT>;

}  // namespace

Result<Acceptor> listen_on(asio::io_context& io, const Endpoint& address, PortSharing sharing) {
  Acceptor acceptor(io.get_executor());
  boost::system::error_code ec;
  const auto failed = [&](const char* step) {
    std::string where = address.address().to_string();
    if (address.address().is_v6()) {
      where = "[" + where + "]";
    }
    return fail(ErrorKind::kUnavailable, "cannot listen on " + where + ":" +
                                             std::to_string(address.port()) + " (" + step +
                                             "): " + ec.message());
  };
  if (acceptor.open(address.protocol(), ec); ec) {
    return failed("socket");
  }
  acceptor.set_option(asio::socket_base::reuse_address(true), ec);
  if (acceptor.set_option(ReusePort(sharing == PortSharing::kShared), ec); ec) {
    return failed("SO_REUSEPORT");
  }
  if (acceptor.bind(address, ec); ec) {
    return failed("bind");
  }
  set_connection_options(acceptor.native_handle());
  if (acceptor.listen(kBacklog, ec); ec) {
    return failed("listen");
  }
  return acceptor;
}

Result<Acceptor> listen_on_socket(asio::io_context& io, int descriptor) {
  const auto unusable = [descriptor](const std::string& why) {
    return fail(ErrorKind::kUnavailable,
                "descriptor " + std::to_string(descriptor) + " is no listening TCP socket: " + why);
  };
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  int listens = 0;
  socklen_t listens_size = sizeof listens;
  if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&name), &size) != 0 ||
      ::getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &listens_size) != 0) {
    return unusable(std::strerror(errno));
  }
  if (listens == 0 || (name.ss_family != AF_INET && name.ss_family != AF_INET6)) {
    return unusable("it is something else");
  }
  const int own = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  Acceptor acceptor(io.get_executor());
  boost::system::error_code ec;
  acceptor.assign(name.ss_family == AF_INET ? asio::ip::tcp::v4() : asio::ip::tcp::v6(), own, ec);
  if (ec) {
    ::close(own);
    return unusable(ec.message());
  }
  set_connection_options(own);
  return acceptor;
}

Listener::Listener(Loop& loop, Acceptor acceptor, Admission admission,
                   std::function<void(Socket)> on_connection)
    : loop_(loop),
      acceptor_(std::move(acceptor)),
      admission_(admission),
      on_connection_(std::move(on_connection)) {}

Task<> Listener::wait_a_tick() {
  LoopTimer timer(loop_.io().get_executor());
  timer.expires_after(DeadlineWheel::kTick);
  co_await timer.async_wait(asio::as_tuple(asio::deferred));
}

Task<> Listener::run() {
  while (!closed_) {
    if (admission_.open_connections.load(std::memory_order_relaxed) >= admission_.max_connections) {
      co_await wait_a_tick();
      continue;
    }
    auto [ec, socket] = co_await acceptor_.async_accept(asio::as_tuple(asio::deferred));
    if (!ec) {
      on_connection_(std::move(socket));  // even when closed meanwhile: it has been taken
    } else if (closed_) {
      break;
    } else if (ec != asio::error::connection_aborted) {
      // Out of descriptors or memory: the client waits in the queue until some are free again.
      co_await wait_a_tick();
    }
  }
}

void Listener::close() {
  closed_ = true;
  boost::system::error_code ignored;
  acceptor_.close(ignored);
}

Endpoint Listener::address() const {
  boost::system::error_code ignored;
  return acceptor_.local_endpoint(ignored);
}

}  // namespace rolter::http
