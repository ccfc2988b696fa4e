#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "rolter/http/head.h"
#include "rolter/proxy/gateway_state.h"

namespace rolter::proxy {

struct UpstreamHeadInput {
  const http::RequestHead& head;
  const Provider& provider;
  std::string_view request_id;
  std::uint64_t content_length = 0;
  bool has_body = true;
  bool strips_credentials = false;      // the caller's key is ours, not the replica's
  bool asks_identity = false;           // an answer that we may have to add to is not compressed
  std::optional<std::uint32_t> rank{};  // the data-parallel rank to serve it, if we choose one
  std::string_view session_id{};        // to be added, where the caller names none; empty = none
};

/// Writes the head under which a request goes to a replica: the client's own fields in their order,
/// less those that concern only its connection to us, its body's framing, our own fields and (when
/// asked) its key; then ours. Anything else passes unchanged, W3C trace context included.
void write_upstream_head(const UpstreamHeadInput& in, std::string& out);

/// The origin-form target of a request: the absolute form without scheme and authority, anything
/// else as it is.
[[nodiscard]] std::string_view origin_form(std::string_view target);

/// The target without its query.
[[nodiscard]] std::string_view path_of(std::string_view target);

}  // namespace rolter::proxy
