#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rolter/config/config.h"
#include "rolter/config/ip_address.h"

namespace rolter::config {

/// What the egress policy says of a connection, and why not.
enum class Verdict : std::uint8_t { kAllowed, kLinkLocal, kLoopback, kPrivate, kMulticast };

/// Which addresses the gateway may connect to, from [egress]. Asked at load for literals, and again
/// for every address that is about to be connected to: a name may come to mean another address.
/// Immutable; any thread.
class EgressPolicy {
 public:
  explicit EgressPolicy(const Egress& egress);

  /// For a connection to `address`, asked for as `host` (the name or literal of the
  /// configuration). A host of allow_hosts may use any address but a multicast one.
  [[nodiscard]] Verdict check(const IpAddress& address, std::string_view host) const;

  /// For a host that is not resolved yet: judges literals, and "localhost" as loopback; any other
  /// name is allowed until its addresses are known.
  [[nodiscard]] Verdict check_host(std::string_view host) const;

 private:
  [[nodiscard]] bool is_excepted(std::string_view host) const;
  [[nodiscard]] bool is_blocked(Verdict range) const;

  Egress egress_;  // allow_hosts normalized
};

/// The range that `address` belongs to, whatever the policy: kAllowed = an ordinary public one.
/// 169.254/16, fe80::/10, fd00:ec2::254 are link-local (metadata services live there); 127/8, 0/8,
/// ::1 and :: loopback; 10/8, 172.16/12, 192.168/16, 100.64/10, fc00::/7 private; 224/4,
/// 255.255.255.255 and ff00::/8 multicast.
[[nodiscard]] Verdict classify(const IpAddress& address);

/// `"link-local and metadata addresses are blocked; ..."` with the mend; "" for kAllowed.
[[nodiscard]] std::string_view explain(Verdict verdict);

}  // namespace rolter::config
