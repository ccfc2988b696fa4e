#include "rolter/admin/request_guard.h"

#include <fmt/format.h>

#include "rolter/base/ascii.h"
#include "rolter/base/secret_text.h"
#include "rolter/config/egress.h"
#include "rolter/config/ip_address.h"

namespace rolter::admin {
namespace {

/// "h:1", "h", "[::1]:1" -> h, ::1.
std::string_view host_of(std::string_view authority) {
  if (authority.starts_with('[')) {
    const auto close = authority.find(']');
    return close == std::string_view::npos ? authority : authority.substr(1, close - 1);
  }
  return authority.substr(0, authority.find(':'));
}

bool is_this_machine(std::string_view host) {
  if (iequals(host, "localhost")) {
    return true;
  }
  const auto address = config::parse_ip_literal(host);
  return address && config::classify(*address) == config::Verdict::kLoopback;
}

/// The page itself: shows nothing that is not asked for later, so that links may lead to it.
bool is_page(const Request& request) {
  return request.path == "/" || request.path.starts_with("/page/");
}

bool is_foreign(const Request& request) {
  const http::Fields& fields = request.fields;
  const std::string_view site = fields.get("sec-fetch-site");
  if (!is_page(request) && (iequals(site, "cross-site") || iequals(site, "same-site"))) {
    return true;
  }
  const std::string_view origin = fields.get("origin");
  if (origin.empty()) {
    return false;
  }
  const auto scheme = origin.find("://");
  return scheme == std::string_view::npos ||
         !iequals(origin.substr(scheme + 3), fields.get("host"));
}

}  // namespace

bool presents_token(const config::Secret& token, const http::Fields& fields) {
  constexpr std::string_view kScheme = "Bearer ";
  const std::string_view field = fields.get("authorization");
  if (fields.count("authorization") != 1 || !iequals(field.substr(0, kScheme.size()), kScheme)) {
    return false;
  }
  return equals_secret(trim_blanks(field.substr(kScheme.size())), token.reveal());
}

std::optional<Reply> guard(const config::Admin& settings, const Request& request) {
  const std::string_view host = request.fields.get("host");
  if (settings.token.empty() && !is_this_machine(host_of(host))) {
    return refusal(403, "host_not_allowed",
                   fmt::format("Host \"{}\" is not this machine: use http://127.0.0.1, or set "
                               "[admin] token_env to allow other names",
                               host));
  }
  if (is_foreign(request)) {
    return refusal(403, "cross_origin", "requests from pages of other origins are refused");
  }
  if (!settings.token.empty() && !is_page(request) &&
      !presents_token(settings.token, request.fields)) {
    Reply reply = refusal(401, "admin_token_required",
                          "send the token of [admin] token_env as Authorization: Bearer");
    reply.extra_fields = "WWW-Authenticate: Bearer\r\n";
    return reply;
  }
  return std::nullopt;
}

}  // namespace rolter::admin
