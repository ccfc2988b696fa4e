#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "rolter/http/head.h"
#include "rolter/openai/error_body.h"

namespace rolter::proxy {

[[nodiscard]] bool is_event_stream(const http::ResponseHead& head);

struct RelayedHeadInput {
  const http::ResponseHead& head;
  std::string_view request_id;
  std::string_view provider;      // x-rolter-provider
  std::string_view target_label;  // x-rolter-target
  int client_minor_version = 1;
  bool keep_alive = true;
  std::string_view extra_fields{};  // complete lines
};

/// Writes the head under which a replica's answer goes to the client: status and fields as they
/// came, less those that concern only our connection to the replica; one framing field; ours.
void write_relayed_head(const RelayedHeadInput& in, std::string& out);

/// The head of an event stream that begins before any replica has answered.
void write_event_stream_head(std::string_view request_id, std::string_view extra_fields,
                             bool keep_alive, std::string& out);

/// A whole answer of the gateway's own.
struct OwnAnswer {
  int status = 200;
  std::string_view content_type = "application/json";
  std::string body{};
  std::string extra_fields{};  // complete lines
  bool keep_alive = true;
  bool body_suppressed = false;  // to a HEAD request
};

/// Writes it, head and body. `request_id` may be empty.
void write_own_answer(const OwnAnswer& answer, std::string_view request_id, std::string& out);

}  // namespace rolter::proxy
