#pragma once

#include "rolter/base/time.h"

namespace rolter::cluster {

/// When the tests' time begins: not the epoch, so that an unset time shows.
inline constexpr TimePoint kStart{std::chrono::hours{1}};

}  // namespace rolter::cluster
