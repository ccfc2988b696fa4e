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

void append_connection(std::string& out, int client_minor_version, bool keep_alive) {
  if (!keep_alive) {
    out.append("Connection: close\r\n");
  } else if (client_minor_version == 0) {
    out.append("Connection: keep-alive\r\n");
  }
}

}  // namespace

bool is_event_stream(const http::ResponseHead& head) {
  constexpr std::string_view kType = "text/event-stream";
  return iequals(head.fields.get("content-type").substr(0, kType.size()), kType);
}

void write_relayed_head(const RelayedHeadInput& in, std::string& out) {
  out.clear();
  append_status_line(out, in.head.status, in.head.reason);
  const http::HopByHop hop_by_hop(in.head.fields);
  for (const http::Field& field : in.head.fields) {
    // A 204 has no body, and must not tell its length (RFC 9110, section 8.6).
    const bool wrong = in.head.status == 204 && iequals(field.name, "content-length");
    if (!wrong && !is_our_own(field.name) && !hop_by_hop.covers(field.name)) {
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

void write_event_stream_head(std::string_view request_id, std::string_view extra_fields,
                             bool keep_alive, std::string& out) {
  append_status_line(out, 200, http::reason_phrase(200));
  append_field(out, "Content-Type", "text/event-stream; charset=utf-8");
  append_field(out, "Cache-Control", "no-cache");
  append_field(out, "X-Accel-Buffering", "no");
  append_field(out, "Transfer-Encoding", "chunked");
  append_connection(out, 1, keep_alive);
  append_field(out, "x-request-id", request_id);
  out.append(extra_fields);
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
