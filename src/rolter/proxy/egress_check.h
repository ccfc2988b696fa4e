#pragma once

#include <string>

#include "rolter/config/config.h"
#include "rolter/http/upstream_pool.h"

namespace rolter::proxy {

/// The policy of [egress] for connections to one host, to be asked of every address that is about
/// to be dialled. Any thread.
[[nodiscard]] http::EgressCheck egress_check(const config::Egress& egress, const std::string& host);

}  // namespace rolter::proxy
