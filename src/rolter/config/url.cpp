#include "rolter/config/url.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>

#include "rolter/config/ip_address.h"

namespace rolter::config {
namespace {

std::unexpected<std::string> fault(std::string message) {
  return std::unexpected(std::move(message));
}

struct Authority {
  std::string host;
  std::optional<std::uint16_t> port;
};

Parsed<std::uint16_t> parse_port(std::string_view text) {
  std::uint32_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc{} || end != text.data() + text.size() || port < 1 || port > 65535) {
    return fault("the port must be a number from 1 to 65535");
  }
  return static_cast<std::uint16_t>(port);
}

Parsed<std::string> parse_host(std::string_view text, bool bracketed) {
  std::string host = normalize_host(text);
  if (host.empty()) {
    return fault("the host is missing");
  }
  const bool is_v6 = host.find(':') != std::string::npos;
  if (is_v6 && !bracketed) {
    return fault("an IPv6 address needs brackets, as in http://[::1]:8001");
  }
  if (is_v6 && text.find('%') != std::string_view::npos) {
    return fault("an IPv6 zone id is not supported; name a global address");
  }
  if (bracketed != is_v6 || !is_host(host)) {
    return fault(
        "the host is neither a name of letters, digits, \"-\", \".\" and \"_\" nor an "
        "address");
  }
  return host;
}

Parsed<Authority> parse_authority(std::string_view text) {
  if (text.find('@') != std::string_view::npos) {
    return fault("a user name or password does not belong in it; use api_key or headers");
  }
  const bool bracketed = text.starts_with('[');
  const std::size_t closing = bracketed ? text.find(']') : 0;
  if (closing == std::string_view::npos) {
    return fault("\"[\" without \"]\"");
  }
  const std::size_t colon = bracketed ? text.find(':', closing) : text.rfind(':');
  const bool bare_v6 = !bracketed && std::ranges::count(text, ':') > 1;
  const std::string_view host_text = bare_v6 ? text : text.substr(0, colon);
  if (bracketed && host_text.size() != closing + 1) {
    return fault("\"]\" must be followed by \":\" and the port, or by nothing");
  }
  auto host = parse_host(host_text, bracketed);
  if (!host) {
    return fault(host.error());
  }
  Authority authority{*std::move(host), std::nullopt};
  if (colon != std::string_view::npos) {
    const auto port = parse_port(text.substr(colon + 1));
    if (!port) {
      return fault(port.error());
    }
    authority.port = *port;
  }
  return authority;
}

bool has_scheme(std::string_view text, std::string_view scheme) {
  return text.size() >= scheme.size() &&
         std::equal(scheme.begin(), scheme.end(), text.begin(), [](char want, char is) {
           return want == (is >= 'A' && is <= 'Z' ? static_cast<char>(is - 'A' + 'a') : is);
         });
}

}  // namespace

bool is_host(std::string_view host) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  if (host.find(':') != std::string_view::npos) {
    return parse_ip_literal(host).has_value();
  }
  const auto is_fitting = [&](char c) {
    return kLetters.find(c) != std::string_view::npos || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_';
  };
  return !host.empty() && host.size() <= 253 && host.front() != '.' && host.back() != '.' &&
         host.find("..") == std::string_view::npos && std::ranges::all_of(host, is_fitting);
}

Parsed<Url> parse_http_url(std::string_view text) {
  Url url;
  if (has_scheme(text, "http://")) {
    text.remove_prefix(7);
  } else if (has_scheme(text, "https://")) {
    url.tls = true;
    text.remove_prefix(8);
  } else if (text.find("://") != std::string_view::npos) {
    return fault("only http:// and https:// are supported");
  } else {
    return fault("the scheme is missing; write http:// or https:// in front");
  }
  const std::size_t path = std::min(text.find_first_of("/?#"), text.size());
  auto authority = parse_authority(text.substr(0, path));
  if (!authority) {
    return fault(authority.error());
  }
  url.host = std::move(authority->host);
  url.port = authority->port.value_or(url.tls ? 443 : 80);
  url.base_path = text.substr(path);
  if (url.base_path.find('#') != std::string::npos) {
    return fault("a \"#\" fragment does not belong in it");
  }
  const auto is_unfit = [](unsigned char c) { return c <= 0x20 || c >= 0x7f; };
  if (std::ranges::any_of(url.base_path, is_unfit)) {
    return fault("the path holds a blank or another character that must be percent-encoded");
  }
  if (!url.base_path.starts_with('/')) {
    url.base_path.insert(0, "/");
  }
  return url;
}

Parsed<Url> parse_api_base(std::string_view text) {
  auto url = parse_http_url(text);
  if (!url) {
    return url;
  }
  std::string& path = url->base_path;
  if (path.find('?') != std::string::npos) {
    return fault("a \"?\" query does not belong in it");
  }
  const auto strip_slashes = [&path] { path.erase(path.find_last_not_of('/') + 1); };
  strip_slashes();
  if (path.ends_with("/v1")) {
    path.resize(path.size() - 3);
    strip_slashes();
  }
  return url;
}

Parsed<TcpEndpoint> parse_tcp_endpoint(std::string_view text) {
  if (!has_scheme(text, "tcp://")) {
    return fault("it must start with tcp://");
  }
  text.remove_prefix(6);
  if (text.starts_with('*')) {
    return fault("\"*\" is what the engine binds; name the host to connect to");
  }
  if (text.find_first_of("/?#") != std::string_view::npos) {
    return fault("nothing may follow the port");
  }
  auto authority = parse_authority(text);
  if (!authority) {
    return fault(authority.error());
  }
  if (!authority->port) {
    return fault("the port is missing");
  }
  return TcpEndpoint{std::move(authority->host), *authority->port};
}

std::string authority(std::string_view host, std::uint16_t port) {
  const bool is_v6 = host.find(':') != std::string_view::npos;
  return is_v6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

std::string to_string(const Url& url) {
  return fmt::format("{}://{}{}", url.tls ? "https" : "http", authority(url.host, url.port),
                     url.base_path);
}

std::string to_string(const TcpEndpoint& endpoint) {
  return fmt::format("tcp://{}", authority(endpoint.host, endpoint.port));
}

}  // namespace rolter::config
