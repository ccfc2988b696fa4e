#pragma once

#include <vector>

namespace rolter::runtime {

/// The listening sockets that the process was started with, as systemd's socket activation and its
/// kin pass them (sd_listen_fds(3)): LISTEN_FDS descriptors from 3 on, meant for us when LISTEN_PID
/// is our process. Whoever holds the socket keeps its queue of connections over our restarts, which
/// therefore refuse and reset nothing. Empty when there are none. Once, before any thread starts:
/// the variables are taken out of the environment.
[[nodiscard]] std::vector<int> take_inherited_sockets();

}  // namespace rolter::runtime
