#pragma once

#include <string>
#include <string_view>

#include "rolter/kvcache/residency.h"
#include "rolter/proxy/gateway_state.h"

namespace rolter::admin {

/// What the engines' own events tell of their caches: blocks by provider and data-parallel rank,
/// and what has been learned of the blocks of texts. Of one provider, or of all when `target` is
/// empty; one without events has no ranks.
[[nodiscard]] std::string residency_json(const proxy::GatewayState& state,
                                         const kvcache::Residency& residency,
                                         std::string_view target);

}  // namespace rolter::admin
