#include "rolter/config/egress.h"

#include <algorithm>
#include <array>
#include <optional>

namespace rolter::config {
namespace {

// The EC2 metadata service on IPv6, in the middle of the private fc00::/7.
constexpr IpAddress::V6 kMetadataV6 = {0xfd, 0x00, 0x0e, 0xc2, 0, 0, 0, 0,
                                       0,    0,    0,    0,    0, 0, 2, 0x54};

Verdict classify_v4(const IpAddress::V4& bytes) {
  const auto [a, b, c, d] = bytes;
  if (a >= 224 && a <= 239) {
    return Verdict::kMulticast;
  }
  if (std::ranges::all_of(bytes, [](std::uint8_t byte) { return byte == 255; })) {
    return Verdict::kMulticast;  // broadcast: as little one peer as multicast
  }
  if (a == 169 && b == 254) {
    return Verdict::kLinkLocal;
  }
  if (a == 127 || a == 0) {
    return Verdict::kLoopback;
  }
  const bool is_private = a == 10 || (a == 172 && b >= 16 && b <= 31) || (a == 192 && b == 168) ||
                          (a == 100 && b >= 64 && b <= 127);
  return is_private ? Verdict::kPrivate : Verdict::kAllowed;
}

Verdict classify_v6(const IpAddress::V6& bytes) {
  if (bytes[0] == 0xff) {
    return Verdict::kMulticast;
  }
  if ((bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80) || bytes == kMetadataV6) {
    return Verdict::kLinkLocal;
  }
  return (bytes[0] & 0xfe) == 0xfc ? Verdict::kPrivate : Verdict::kAllowed;
}

}  // namespace

Verdict classify(const IpAddress& address) {
  // ::1 and :: come out as 0.0.0.1 and 0.0.0.0, which are loopback as well.
  const IpAddress inner = address.unwrapped();
  return inner.is_v4() ? classify_v4(inner.v4()) : classify_v6(inner.v6());
}

std::string_view explain(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAllowed:
      return "";
    case Verdict::kLinkLocal:
      return "link-local and metadata addresses are blocked by [egress] block_link_local; name the "
             "host in allow_hosts to make an exception";
    case Verdict::kLoopback:
      return "loopback addresses are blocked by [egress] block_loopback; name the host in "
             "allow_hosts to make an exception";
    case Verdict::kPrivate:
      return "private addresses are blocked by [egress] block_private; name the host in "
             "allow_hosts to make an exception";
    case Verdict::kMulticast:
      return "multicast and broadcast addresses are never connected to";
  }
  return "";
}

EgressPolicy::EgressPolicy(const Egress& egress) : egress_(egress) {
  for (std::string& host : egress_.allow_hosts) {
    host = normalize_host(host);
  }
}

bool EgressPolicy::is_excepted(std::string_view host) const {
  const std::string wanted = normalize_host(host);
  const std::optional<IpAddress> address = parse_ip_literal(wanted);
  return std::ranges::any_of(egress_.allow_hosts, [&](const std::string& allowed) {
    return allowed == wanted || (address && parse_ip_literal(allowed) == address);
  });
}

bool EgressPolicy::is_blocked(Verdict range) const {
  switch (range) {
    case Verdict::kAllowed:
      return false;
    case Verdict::kLinkLocal:
      return egress_.block_link_local;
    case Verdict::kLoopback:
      return egress_.block_loopback;
    case Verdict::kPrivate:
      return egress_.block_private;
    case Verdict::kMulticast:
      return true;
  }
  return true;
}

Verdict EgressPolicy::check(const IpAddress& address, std::string_view host) const {
  const Verdict range = classify(address);
  if (!is_blocked(range)) {
    return Verdict::kAllowed;
  }
  const bool excepted = range != Verdict::kMulticast && is_excepted(host);
  return excepted ? Verdict::kAllowed : range;
}

Verdict EgressPolicy::check_host(std::string_view host) const {
  if (const std::optional<IpAddress> address = parse_ip_literal(host)) {
    return check(*address, host);
  }
  const std::string name = normalize_host(host);
  if (name == "localhost" || name.ends_with(".localhost")) {
    return check(IpAddress(IpAddress::V4{127, 0, 0, 1}), host);
  }
  return Verdict::kAllowed;
}

}  // namespace rolter::config
