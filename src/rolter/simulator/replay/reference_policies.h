#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "rolter/simulator/replay/policy.h"

namespace rolter::simulator::replay {

/// Policies to compare with, not to serve with: they see the engines' caches and queues exactly and
/// at once. What each does is in docs/design/replay.md.
///
/// nullptr for a name that is none of reference_names().
[[nodiscard]] std::unique_ptr<Policy> make_reference_policy(std::string_view name,
                                                            std::size_t replicas);

[[nodiscard]] std::vector<std::string_view> reference_names();

}  // namespace rolter::simulator::replay
