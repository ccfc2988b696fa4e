#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rolter::config {

/// An IPv4 or IPv6 address as its bytes, in network order.
class IpAddress {
 public:
  using V4 = std::array<std::uint8_t, 4>;
  using V6 = std::array<std::uint8_t, 16>;

  explicit IpAddress(const V4& bytes) : is_v4_(true) {
    std::copy_n(bytes.begin(), 4, bytes_.begin());
  }
  explicit IpAddress(const V6& bytes) : bytes_(bytes) {}

  [[nodiscard]] bool is_v4() const { return is_v4_; }
  /// The four bytes of an IPv4 address, the sixteen of an IPv6 address.
  [[nodiscard]] V4 v4() const { return {bytes_[0], bytes_[1], bytes_[2], bytes_[3]}; }
  [[nodiscard]] const V6& v6() const { return bytes_; }

  /// The IPv4 address inside an IPv4-mapped, IPv4-compatible, NAT64 (64:ff9b::/96) or 6to4
  /// (2002::/16) address: where a packet to it really goes. The address itself otherwise.
  [[nodiscard]] IpAddress unwrapped() const;

  bool operator==(const IpAddress&) const = default;

 private:
  V6 bytes_{};
  bool is_v4_ = false;
};

/// "10.0.0.1", "2001:db8::1".
[[nodiscard]] std::string to_string(const IpAddress& address);

/// The address that `host` spells, in any form a resolver takes for one without asking DNS: dotted
/// IPv4; the octal, hexadecimal, decimal and short forms of inet_aton ("0177.1", "0x7f000001",
/// "2130706433"); IPv6 with or without brackets and zone id. Case, percent-encoding and one
/// trailing dot do not matter. nullopt for a name.
[[nodiscard]] std::optional<IpAddress> parse_ip_literal(std::string_view host);

/// The host as it is compared: percent-decoded, lower case, without brackets, zone id or trailing
/// dot.
[[nodiscard]] std::string normalize_host(std::string_view host);

}  // namespace rolter::config
