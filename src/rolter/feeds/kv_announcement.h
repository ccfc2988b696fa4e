#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "rolter/base/error.h"
#include "rolter/config/url.h"

namespace rolter::feeds {

/// A stream of KV events as its engine announces it.
struct AnnouncedStream {
  std::uint32_t rank = 0;
  config::TcpEndpoint events;  // host "": any interface, so that of the engine's API
  std::optional<config::TcpEndpoint> replay = std::nullopt;
  std::uint32_t block_size = 0;  // tokens; 0 = not said
  bool operator==(const AnnouncedStream&) const = default;
};

/// One per rank, ordered by rank; at least one. Errors say what the engine lacks.
using Announcement = Result<std::vector<AnnouncedStream>>;

/// vLLM's GET /kv_event_sources: {"0": {"endpoint": ..., "replay_endpoint": ...}} by rank (0.32),
/// or a list of {"data_parallel_rank", "endpoint", ...}, bare or under "sources" (vLLM PR 55844).
[[nodiscard]] Announcement read_kv_event_sources(std::string_view body);

/// SGLang's GET /server_info, whose "kv_events" has host, first port and number of ranks.
[[nodiscard]] Announcement read_server_info(std::string_view body);

}  // namespace rolter::feeds
