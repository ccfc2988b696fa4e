#include "rolter/proxy/client_answer.h"

#include "rolter/proxy/field_lines.h"

namespace rolter::proxy {
namespace {

using http::iequals;

void append_status_line(std::string& out, int status, std::string_view reason) {
  out.append("HTTP/1.1 ");
  append_decimal(out, static_cast<std::uint64_t>(status));
  out.append(" ").append(reason).append("\r\n");
}

/// What a replica says under our names is not said by us.
bool is_our_own(std::string_view name) {
  constexpr std::string_view kPrefix = "x-rolter-";
  return iequals(name, "x-request-id") || iequals(name.substr(0, kPrefix.size()), kPrefix);
}

bool is_event_stream(const http::ResponseHead& head) {
  constexpr std::string_view kType = "text/event-stream";
  return iequals(head.fields.get("content-type").substr(0, kType.size()), kType);
}

void append_connection(std::string& out, int client_minor_version, bool keep_alive) {
  if (!keep_alive) {
    out.append("Connection: close\r\n");
  } else if (client_minor_version == 0) {
    out.append("Connection: keep-alive\r\n");
  }
}

}  // namespace

void write_relayed_head(const RelayedHeadInput& in, std::string& out) {
  out.clear();
  append_status_line(out, in.head.status, in.head.reason);
  const http::HopByHop hop_by_hop(in.head.fields);
  for (const http::Field& field : in.head.fields) {
    if (!is_our_own(field.name) && !hop_by_hop.covers(field.name)) {
      append_field(out, field.name, field.value);
    }
  }
  // HTTP/1.0 knows no chunks: its body ends with the connection (RFC 9112, section 6.1).
  if (in.head.framing == http::Framing::kChunked && in.client_minor_version >= 1) {
    out.append("Transfer-Encoding: chunked\r\n");
  }
  if (is_event_stream(in.head) && !in.head.fields.has("x-accel-buffering")) {
    out.append("X-Accel-Buffering: no\r\n");
  }
  append_connection(out, in.client_minor_version, in.keep_alive);
  append_field(out, "x-request-id", in.request_id);
  append_field(out, "x-rolter-provider", in.provider);
  append_field(out, "x-rolter-target", in.target_label);
  out.append(in.extra_fields);
  out.append("\r\n");
}

void write_own_answer(const OwnAnswer& answer, std::string_view request_id, std::string& out) {
  out.clear();
  append_status_line(out, answer.status, http::reason_phrase(answer.status));
  if (!answer.body.empty()) {
    append_field(out, "Content-Type", answer.content_type);
  }
  append_field(out, "Content-Length", answer.body.size());
  out.append(answer.extra_fields);
  if (!answer.keep_alive) {
    out.append("Connection: close\r\n");
  }
  if (!request_id.empty()) {
    append_field(out, "x-request-id", request_id);
  }
  out.append("\r\n");
  if (!answer.body_suppressed) {
    out.append(answer.body);
  }
}

}  // namespace rolter::proxy
