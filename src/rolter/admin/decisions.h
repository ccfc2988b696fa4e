#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rolter/proxy/decision_ring.h"
#include "rolter/proxy/loop_state.h"

namespace rolter::admin {

/// How far a reader has come in each loop's ring.
using DecisionCursor = std::vector<std::uint64_t>;

/// What has ended since the cursor, on all loops, oldest first; at most `most`, the newest. Moves
/// the cursor on.
[[nodiscard]] std::vector<proxy::RoutedRequest> read_decisions(const proxy::SharedState& shared,
                                                               DecisionCursor& cursor,
                                                               std::size_t most);

/// The kept requests with this id (a caller may send one twice); all of them when it is empty.
[[nodiscard]] std::vector<proxy::RoutedRequest> find_decisions(const proxy::SharedState& shared,
                                                               std::string_view request_id);

/// A JSON array.
[[nodiscard]] std::string decisions_json(const std::vector<proxy::RoutedRequest>& decisions);

/// The last error of each provider on any loop.
[[nodiscard]] std::vector<proxy::LastError> last_errors(const proxy::SharedState& shared);

}  // namespace rolter::admin
