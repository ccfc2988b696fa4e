#include "rolter/http/socket_options.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace rolter::http {
namespace {

constexpr int kProbeAfterSeconds = 30;
constexpr int kProbeIntervalSeconds = 10;
constexpr int kProbes = 3;
constexpr unsigned kUnackedMilliseconds = 60'000;

template <typename T>
void set_option(int socket, int level, int name, T value) {
  // Best effort: a connection without these options still works.
  static_cast<void>(::setsockopt(socket, level, name, &value, sizeof value));
}

}  // namespace

void set_connection_options(int socket) {
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, kProbeAfterSeconds);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, kProbeIntervalSeconds);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, kUnackedMilliseconds);
}

}  // namespace rolter::http
