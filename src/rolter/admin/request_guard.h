#pragma once

#include <optional>
#include <string_view>

#include "rolter/admin/reply.h"
#include "rolter/config/config.h"
#include "rolter/http/head.h"

namespace rolter::admin {

/// A request to the admin listener, body included. Views live as long as the connection's buffer.
struct Request {
  std::string_view method;
  std::string_view path;   // without the query
  std::string_view query;  // without "?"
  const http::Fields& fields;
  std::string_view body{};  // followed by http::ServerConnection::kBodyPadding readable bytes
};

/// Lets a request in, or says why not:
/// - a web page elsewhere must not drive a browser at us: an Origin must be our own, and without a
///   token the Host must name this machine (a page whose name was rebound to 127.0.0.1 sends its
///   own);
/// - with a token, everything but the page itself, which shows nothing by itself, needs it as
///   `Authorization: Bearer`.
/// nullopt: let in.
[[nodiscard]] std::optional<Reply> guard(const config::Admin& settings, const Request& request);

/// Whether the request carries the admin token. Takes as long for any token of the same length.
[[nodiscard]] bool presents_token(const config::Secret& token, const http::Fields& fields);

}  // namespace rolter::admin
