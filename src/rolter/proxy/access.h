#pragma once

#include <string>

#include "rolter/admission/key_ring.h"
#include "rolter/http/head.h"
#include "rolter/proxy/gateway_state.h"

namespace rolter::proxy {

/// Who sends a request with these fields.
[[nodiscard]] Result<admission::Caller> authenticate(const GatewayState& state,
                                                     const http::Fields& fields, WallTime now);

/// The x-ratelimit-* lines of a key with limits.
[[nodiscard]] std::string limit_fields(const admission::KeyStatus& status);

}  // namespace rolter::proxy
