#pragma once

#include <string_view>

#include "rolter/base/error.h"
#include "rolter/cluster/replica.h"
#include "rolter/config/config.h"

namespace rolter::feeds {

/// Reads what an LMCache server answered, in the form that [providers.lmcache] format names:
///  json            {"occupancy": 0..1, "cache_available": true}; other keys are ignored
///  lmcache_status  GET /status of `lmcache server`: "memory_usage_ratio" at any depth (its place
///                  changed between versions), and "is_healthy" at the top
///  prometheus      the gauge lmcache_mp_l1_usage_ratio; of several, the fullest
/// A fraction outside 0..1 is an error like any other: what cannot be is not clamped into something
/// that can.
[[nodiscard]] Result<cluster::LmcacheReading> read_lmcache_answer(config::LmcacheFormat format,
                                                                  std::string_view body);

}  // namespace rolter::feeds
