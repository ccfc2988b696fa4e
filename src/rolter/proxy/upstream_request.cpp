#include "rolter/proxy/upstream_request.h"

#include <algorithm>
#include <array>

#include "rolter/proxy/explain_field.h"
#include "rolter/proxy/field_lines.h"

namespace rolter::proxy {
namespace {

using http::iequals;

constexpr std::string_view kCodingField = "Accept-Encoding";
constexpr std::string_view kSessionField = "X-Session-ID";       // vLLM's, from about 0.30 on
constexpr std::string_view kRankField = "X-data-parallel-rank";  // vLLM's and SGLang's

bool is_our_own(std::string_view name) {
  static constexpr std::array<std::string_view, 7> kNames{
      "host",           "content-length",    "expect", "x-request-id", kExplainField,
      kAdminTokenField, http::kTokenIdsField};
  return std::ranges::any_of(kNames, [name](std::string_view own) { return iequals(name, own); });
}

bool is_credential(std::string_view name) {
  return iequals(name, "authorization") || iequals(name, "x-api-key");
}

}  // namespace

void write_upstream_head(const UpstreamHeadInput& in, std::string& out) {
  out.clear();
  out.append(in.head.method).append(" ").append(in.provider.base_path);
  out.append(origin_form(in.head.target)).append(" HTTP/1.1\r\n").append(in.provider.host_field);
  const http::HopByHop hop_by_hop(in.head.fields);
  for (const http::Field& field : in.head.fields) {
    const bool credential = is_credential(field.name);
    if (credential && (in.strips_credentials || in.provider.replaces_authorization)) {
      continue;
    }
    if ((in.rank && iequals(field.name, kRankField)) ||
        (in.asks_identity && iequals(field.name, kCodingField))) {
      continue;
    }
    if (!is_our_own(field.name) && !hop_by_hop.covers(field.name)) {
      append_field(out, field.name, field.value);
    }
  }
  append_field(out, "X-Request-Id", in.request_id);
  if (in.rank) {
    append_field(out, kRankField, *in.rank);
  }
  if (in.asks_identity) {
    append_field(out, kCodingField, "identity");
  }
  if (!in.session_id.empty()) {
    append_field(out, kSessionField, in.session_id);
  }
  out.append(in.provider.own_fields);
  if (in.has_body) {
    append_field(out, "Content-Length", in.content_length);
  }
  out.append("\r\n");
}

std::string_view origin_form(std::string_view target) {
  const std::size_t scheme = target.find("://");
  if (target.starts_with('/') || scheme == std::string_view::npos) {
    return target;
  }
  const std::size_t path = target.find('/', scheme + 3);
  return path == std::string_view::npos ? std::string_view("/") : target.substr(path);
}

std::string_view path_of(std::string_view target) {
  return target.substr(0, target.find('?'));
}

}  // namespace rolter::proxy
