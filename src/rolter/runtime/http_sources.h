#pragma once

#include "rolter/feeds/http_get.h"
#include "rolter/proxy/gateway_state.h"

namespace rolter::runtime {

/// Where to ask a replica beside the requests: as they go there, with the provider's own key.
[[nodiscard]] inline feeds::HttpSource replica_source(const proxy::Provider& provider) {
  return {.addresses = provider.addresses,
          .egress = provider.egress,
          .fields = provider.host_field + provider.own_fields,
          .tls = provider.tls};
}

}  // namespace rolter::runtime
