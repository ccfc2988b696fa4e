#pragma once

namespace rolter::http {

/// No Nagle delay, and keep-alive probes that find a peer that vanished without a word within about
/// a minute, whether we are silent (probes) or sending (TCP_USER_TIMEOUT). Sockets accepted from a
/// listening one inherit all of it (Linux).
void set_connection_options(int socket);

}  // namespace rolter::http
