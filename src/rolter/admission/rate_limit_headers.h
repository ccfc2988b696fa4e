#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rolter/admission/key_usage.h"

namespace rolter::admission {

/// x-ratelimit-{limit,remaining,reset}-{requests,tokens} as OpenAI's API sends them; those of a
/// limit that is off are left out.
[[nodiscard]] std::vector<std::pair<std::string_view, std::string>> rate_limit_headers(
    const KeyStatus& status);

/// "0s", "350ms", "12.5s", "1m1s": the notation of the reset headers, to the millisecond.
[[nodiscard]] std::string format_reset(Duration duration);

}  // namespace rolter::admission
