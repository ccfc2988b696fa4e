#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "rolter/config/config.h"

namespace rolter::config {

/// A parsed value, or what is wrong with the text and the mend; never the text itself, which may
/// hold a password.
template <typename T>
using Parsed = std::expected<T, std::string>;

/// An http or https URL whose path is the one before "/v1": "http://h:8001", "http://h:8001/",
/// "http://h:8001/v1" and "http://h:8001/v1/" are the same. No query, no user name.
[[nodiscard]] Parsed<Url> parse_api_base(std::string_view text);

/// An http or https URL with its path and query as they are; "/" when there is none.
[[nodiscard]] Parsed<Url> parse_http_url(std::string_view text);

/// Where an engine publishes its events.
struct TcpEndpoint {
  std::string host;  // without brackets
  std::uint16_t port = 0;
  bool operator==(const TcpEndpoint&) const = default;
};

/// "tcp://host:port"; IPv6 in brackets.
[[nodiscard]] Parsed<TcpEndpoint> parse_tcp_endpoint(std::string_view text);

/// The host and port as an authority: "h:80", "[::1]:80".
[[nodiscard]] std::string authority(std::string_view host, std::uint16_t port);

[[nodiscard]] std::string to_string(const Url& url);
[[nodiscard]] std::string to_string(const TcpEndpoint& endpoint);

/// A host name (RFC 1123 letters, digits, "-", "." and the "_" that container networks use) or an
/// address without brackets.
[[nodiscard]] bool is_host(std::string_view host);

}  // namespace rolter::config
