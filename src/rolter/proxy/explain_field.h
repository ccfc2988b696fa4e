#pragma once

#include <string>

#include "rolter/http/head.h"
#include "rolter/proxy/gateway_state.h"
#include "rolter/proxy/request_facts.h"

namespace rolter::proxy {

/// The caller's wish to be told why a replica was chosen: "1".
inline constexpr std::string_view kExplainField = "x-rolter-explain";
/// The admin token, without which it is not granted. Neither is ever forwarded.
inline constexpr std::string_view kAdminTokenField = "x-rolter-admin-token";

/// Whether a request asks for the explanation and may have it. Never without a configured token.
[[nodiscard]] bool may_explain(const config::Admin& settings, const http::Fields& fields);

/// `x-rolter-explain: reason=prefix; matched=0.830; load=2; scores="a:0.830 b:0.100"` for the last
/// pick, as a complete line; with `cached_tokens=1184` after the match where the strategy predicts
/// them.
[[nodiscard]] std::string explain_field(const GatewayState& state, const RequestFacts& facts);

}  // namespace rolter::proxy
