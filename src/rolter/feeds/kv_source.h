#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "rolter/base/error.h"
#include "rolter/base/ids.h"
#include "rolter/base/time.h"
#include "rolter/http/address_book.h"
#include "rolter/http/asio.h"
#include "rolter/http/upstream_pool.h"

namespace rolter::feeds {

/// A server that speaks ZMQ: its host as it is resolved now, and what may be dialled of it.
struct ZmqServer {
  std::string host;        // as configured, for people
  std::uint16_t port = 0;  // of this rank; that of the addresses does not count
  std::shared_ptr<http::AddressCell> addresses;
  http::EgressCheck egress;
};

/// Where one stream of KV events comes from: one replica, one data-parallel rank.
struct KvSource {
  std::string provider;
  ReplicaSlot replica{};
  std::uint32_t rank = 0;
  ZmqServer events;
  std::optional<ZmqServer> replay;
  std::string topic;  // messages under topics that begin so count; "" = all
  std::size_t max_blocks = 1'000'000;
  Duration stale = std::chrono::seconds(30);
  std::uint32_t block_size = 0;  // tokens; 0 = learned
};

/// Whether what is known from the one can be kept when it is followed as the other.
[[nodiscard]] bool is_same_stream(const KvSource& one, const KvSource& other);

/// "tcp://host:port" as configured.
[[nodiscard]] std::string to_string(const ZmqServer& server);

/// One of the server's present addresses that may be dialled; the next one at each `attempt`. An
/// error says why there is none.
[[nodiscard]] Result<http::Endpoint> address_to_dial(const ZmqServer& server, std::size_t attempt);

/// Whether `address` is still one of the server's.
[[nodiscard]] bool still_leads_there(const ZmqServer& server, const http::Endpoint& address);

}  // namespace rolter::feeds
