#pragma once

#include <cstddef>
#include <vector>

#include "rolter/feeds/kv_announcement.h"
#include "rolter/feeds/kv_source.h"
#include "rolter/feeds/name_resolution.h"
#include "rolter/http/address_book.h"
#include "rolter/proxy/gateway_state.h"

namespace rolter::runtime {

/// Where the events of a provider come from.
struct KvSources {
  std::vector<feeds::KvSource> sources;
  std::vector<feeds::ResolvedName> names;  // of their hosts, to be kept resolved
};

/// The streams of state.config.providers[provider]: as announced, if anything has been, else as
/// configured. The egress policy judges both alike. `hosts` holds the addresses of hosts that are
/// not the provider's own.
[[nodiscard]] KvSources kv_sources(const proxy::GatewayState& state, std::size_t provider,
                                   const std::vector<feeds::AnnouncedStream>& announced,
                                   http::AddressBook& hosts);

}  // namespace rolter::runtime
