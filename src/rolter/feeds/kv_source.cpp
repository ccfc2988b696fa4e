#include "rolter/feeds/kv_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "rolter/config/url.h"

namespace rolter::feeds {
namespace {

auto place_of(const ZmqServer& server) {
  return std::tie(server.host, server.port);
}

}  // namespace

bool is_same_stream(const KvSource& one, const KvSource& other) {
  const auto settings = [](const KvSource& source) {
    return std::tie(source.provider, source.replica, source.rank, source.topic, source.max_blocks,
                    source.stale, source.block_size);
  };
  return settings(one) == settings(other) && place_of(one.events) == place_of(other.events) &&
         one.replay.has_value() == other.replay.has_value() &&
         (!one.replay || place_of(*one.replay) == place_of(*other.replay));
}

std::string to_string(const ZmqServer& server) {
  return config::to_string(config::TcpEndpoint{.host = server.host, .port = server.port});
}

Result<http::Endpoint> address_to_dial(const ZmqServer& server, std::size_t attempt) {
  const auto addresses = server.addresses->load();
  Error why{ErrorKind::kNotFound, ErrorSource::kUpstream, Retry::kNo,
            fmt::format("{} has no address", server.host)};
  for (std::size_t i = 0; i < addresses->size(); ++i) {
    const http::Endpoint& known = (*addresses)[(attempt + i) % addresses->size()];
    const http::Endpoint address(known.address(), server.port);
    auto allowed = server.egress(address);
    if (allowed) {
      return address;
    }
    why = std::move(allowed.error());
  }
  return std::unexpected(std::move(why));
}

bool still_leads_there(const ZmqServer& server, const http::Endpoint& address) {
  const auto addresses = server.addresses->load();
  return address.port() == server.port &&
         std::ranges::any_of(*addresses, [&](const http::Endpoint& known) {
           return known.address() == address.address();
         });
}

}  // namespace rolter::feeds
