#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace rolter::simulator {

/// A token as a logged prompt is counted: English has about so many bytes to one.
inline constexpr std::size_t kLoggedTokenBytes = 4;

/// What a line of Rolter's access log says of a request, as far as a trace needs it.
struct LogLine {
  std::string_view time;  // of its end
  double duration_ms = 0.0;
  std::string_view blocks;
};

struct LoggedRequest {
  double came_s = 0.0;                   // unix time
  std::vector<std::uint64_t> digests{};  // of the prompt's blocks; never empty
};

/// Nothing for a request without blocks, or whose time is none.
[[nodiscard]] std::optional<LoggedRequest> read_logged_request(const LogLine& line);

}  // namespace rolter::simulator
