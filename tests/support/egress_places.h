#pragma once

#include <ostream>
#include <string_view>

#include "rolter/config/egress.h"

namespace rolter::test {

/// A host and the range it belongs to: kAllowed = an ordinary public one, or a name that is not
/// known to be anything else.
struct Place {
  std::string_view host;
  config::Verdict range;
};

inline void PrintTo(const Place& place, std::ostream* out) {
  *out << place.host;
}

/// Every range at its edges, and every form that hides an address.
inline constexpr Place kPlaces[] = {
    {"169.254.0.0", config::Verdict::kLinkLocal},
    {"169.254.169.254", config::Verdict::kLinkLocal},
    {"169.254.255.255", config::Verdict::kLinkLocal},
    {"169.253.255.255", config::Verdict::kAllowed},
    {"169.255.0.0", config::Verdict::kAllowed},
    {"fe80::", config::Verdict::kLinkLocal},
    {"fe80::1", config::Verdict::kLinkLocal},
    {"febf:ffff::1", config::Verdict::kLinkLocal},
    {"fe7f::1", config::Verdict::kAllowed},
    {"fec0::1", config::Verdict::kAllowed},
    {"fd00:ec2::254", config::Verdict::kLinkLocal},
    {"fd00:ec2::255", config::Verdict::kPrivate},
    {"127.0.0.0", config::Verdict::kLoopback},
    {"127.0.0.1", config::Verdict::kLoopback},
    {"127.255.255.255", config::Verdict::kLoopback},
    {"126.255.255.255", config::Verdict::kAllowed},
    {"128.0.0.0", config::Verdict::kAllowed},
    {"0.0.0.0", config::Verdict::kLoopback},
    {"0.1.2.3", config::Verdict::kLoopback},
    {"1.0.0.0", config::Verdict::kAllowed},
    {"::", config::Verdict::kLoopback},
    {"::1", config::Verdict::kLoopback},
    {"::2", config::Verdict::kLoopback},
    {"10.0.0.0", config::Verdict::kPrivate},
    {"10.255.255.255", config::Verdict::kPrivate},
    {"9.255.255.255", config::Verdict::kAllowed},
    {"11.0.0.0", config::Verdict::kAllowed},
    {"172.16.0.0", config::Verdict::kPrivate},
    {"172.31.255.255", config::Verdict::kPrivate},
    {"172.15.255.255", config::Verdict::kAllowed},
    {"172.32.0.0", config::Verdict::kAllowed},
    {"192.168.0.0", config::Verdict::kPrivate},
    {"192.168.255.255", config::Verdict::kPrivate},
    {"192.167.255.255", config::Verdict::kAllowed},
    {"192.169.0.0", config::Verdict::kAllowed},
    {"100.64.0.0", config::Verdict::kPrivate},
    {"100.127.255.255", config::Verdict::kPrivate},
    {"100.63.255.255", config::Verdict::kAllowed},
    {"100.128.0.0", config::Verdict::kAllowed},
    {"fc00::1", config::Verdict::kPrivate},
    {"fdff:ffff::1", config::Verdict::kPrivate},
    {"fbff::1", config::Verdict::kAllowed},
    {"fe00::1", config::Verdict::kAllowed},
    {"224.0.0.0", config::Verdict::kMulticast},
    {"239.255.255.255", config::Verdict::kMulticast},
    {"223.255.255.255", config::Verdict::kAllowed},
    {"240.0.0.0", config::Verdict::kAllowed},
    {"255.255.255.255", config::Verdict::kMulticast},
    {"ff02::1", config::Verdict::kMulticast},
    {"8.8.8.8", config::Verdict::kAllowed},
    {"2001:db8::1", config::Verdict::kAllowed},
    // The same address in other clothes.
    {"::ffff:169.254.169.254", config::Verdict::kLinkLocal},
    {"::ffff:a9fe:a9fe", config::Verdict::kLinkLocal},
    {"0:0:0:0:0:ffff:7f00:1", config::Verdict::kLoopback},
    {"::ffff:8.8.8.8", config::Verdict::kAllowed},
    {"::127.0.0.1", config::Verdict::kLoopback},
    {"::a9fe:a9fe", config::Verdict::kLinkLocal},
    {"::8.8.8.8", config::Verdict::kAllowed},
    {"64:ff9b::169.254.169.254", config::Verdict::kLinkLocal},
    {"64:ff9b::10.0.0.1", config::Verdict::kPrivate},
    {"64:ff9b::8.8.8.8", config::Verdict::kAllowed},
    {"2002:a9fe:a9fe::1", config::Verdict::kLinkLocal},
    {"2002:7f00:1::", config::Verdict::kLoopback},
    {"2002:e000:1::", config::Verdict::kMulticast},
    {"2002:808:808::", config::Verdict::kAllowed},
    {"0xa9fea9fe", config::Verdict::kLinkLocal},
    {"0xA9.0xFE.0xA9.0xFE", config::Verdict::kLinkLocal},
    {"0251.0376.0251.0376", config::Verdict::kLinkLocal},
    {"2852039166", config::Verdict::kLinkLocal},
    {"169.254.43518", config::Verdict::kLinkLocal},
    {"169.16689662", config::Verdict::kLinkLocal},
    {"127.1", config::Verdict::kLoopback},
    {"0177.1", config::Verdict::kLoopback},
    {"0x7f.1", config::Verdict::kLoopback},
    {"0", config::Verdict::kLoopback},
    {"2130706433", config::Verdict::kLoopback},
    {"127.0.0.1.", config::Verdict::kLoopback},
    {"169.254.169.254.", config::Verdict::kLinkLocal},
    {"%31%36%39.254.169.254", config::Verdict::kLinkLocal},
    {"169%2E254%2e169.254", config::Verdict::kLinkLocal},
    {"[fe80::1%25eth0]", config::Verdict::kLinkLocal},
    {"fe80::1%eth0", config::Verdict::kLinkLocal},
    {"FE80::ABCD", config::Verdict::kLinkLocal},
    {"[::FFFF:127.0.0.1]", config::Verdict::kLoopback},
    {"localhost", config::Verdict::kLoopback},
    {"LOCALHOST.", config::Verdict::kLoopback},
    {"%6cocalhost", config::Verdict::kLoopback},
    {"a.localhost", config::Verdict::kLoopback},
    {"localhost.example", config::Verdict::kAllowed},
    {"vllm-1", config::Verdict::kAllowed},
    {"127.0.0.1.nip.example", config::Verdict::kAllowed},
};

}  // namespace rolter::test
