#include "rolter/config/egress.h"

#include <gtest/gtest.h>

namespace rolter::config {
namespace {

struct Place {
  std::string_view host;
  Verdict range;
};

void PrintTo(const Place& place, std::ostream* out) {
  *out << place.host;
}

// Every range at its edges, and every form that hides an address.
constexpr Place kPlaces[] = {
    {"169.254.0.0", Verdict::kLinkLocal},
    {"169.254.169.254", Verdict::kLinkLocal},
    {"169.254.255.255", Verdict::kLinkLocal},
    {"169.253.255.255", Verdict::kAllowed},
    {"169.255.0.0", Verdict::kAllowed},
    {"fe80::", Verdict::kLinkLocal},
    {"fe80::1", Verdict::kLinkLocal},
    {"febf:ffff::1", Verdict::kLinkLocal},
    {"fe7f::1", Verdict::kAllowed},
    {"fec0::1", Verdict::kAllowed},
    {"fd00:ec2::254", Verdict::kLinkLocal},
    {"fd00:ec2::255", Verdict::kPrivate},
    {"127.0.0.0", Verdict::kLoopback},
    {"127.0.0.1", Verdict::kLoopback},
    {"127.255.255.255", Verdict::kLoopback},
    {"126.255.255.255", Verdict::kAllowed},
    {"128.0.0.0", Verdict::kAllowed},
    {"0.0.0.0", Verdict::kLoopback},
    {"0.1.2.3", Verdict::kLoopback},
    {"1.0.0.0", Verdict::kAllowed},
    {"::", Verdict::kLoopback},
    {"::1", Verdict::kLoopback},
    {"::2", Verdict::kLoopback},
    {"10.0.0.0", Verdict::kPrivate},
    {"10.255.255.255", Verdict::kPrivate},
    {"9.255.255.255", Verdict::kAllowed},
    {"11.0.0.0", Verdict::kAllowed},
    {"172.16.0.0", Verdict::kPrivate},
    {"172.31.255.255", Verdict::kPrivate},
    {"172.15.255.255", Verdict::kAllowed},
    {"172.32.0.0", Verdict::kAllowed},
    {"192.168.0.0", Verdict::kPrivate},
    {"192.168.255.255", Verdict::kPrivate},
    {"192.167.255.255", Verdict::kAllowed},
    {"192.169.0.0", Verdict::kAllowed},
    {"100.64.0.0", Verdict::kPrivate},
    {"100.127.255.255", Verdict::kPrivate},
    {"100.63.255.255", Verdict::kAllowed},
    {"100.128.0.0", Verdict::kAllowed},
    {"fc00::1", Verdict::kPrivate},
    {"fdff:ffff::1", Verdict::kPrivate},
    {"fbff::1", Verdict::kAllowed},
    {"fe00::1", Verdict::kAllowed},
    {"224.0.0.0", Verdict::kMulticast},
    {"239.255.255.255", Verdict::kMulticast},
    {"223.255.255.255", Verdict::kAllowed},
    {"240.0.0.0", Verdict::kAllowed},
    {"255.255.255.255", Verdict::kMulticast},
    {"ff02::1", Verdict::kMulticast},
    {"8.8.8.8", Verdict::kAllowed},
    {"2001:db8::1", Verdict::kAllowed},
    // The same address in other clothes.
    {"::ffff:169.254.169.254", Verdict::kLinkLocal},
    {"::ffff:a9fe:a9fe", Verdict::kLinkLocal},
    {"0:0:0:0:0:ffff:7f00:1", Verdict::kLoopback},
    {"::ffff:8.8.8.8", Verdict::kAllowed},
    {"::127.0.0.1", Verdict::kLoopback},
    {"::a9fe:a9fe", Verdict::kLinkLocal},
    {"::8.8.8.8", Verdict::kAllowed},
    {"64:ff9b::169.254.169.254", Verdict::kLinkLocal},
    {"64:ff9b::10.0.0.1", Verdict::kPrivate},
    {"64:ff9b::8.8.8.8", Verdict::kAllowed},
    {"2002:a9fe:a9fe::1", Verdict::kLinkLocal},
    {"2002:7f00:1::", Verdict::kLoopback},
    {"2002:e000:1::", Verdict::kMulticast},
    {"2002:808:808::", Verdict::kAllowed},
    {"0xa9fea9fe", Verdict::kLinkLocal},
    {"0xA9.0xFE.0xA9.0xFE", Verdict::kLinkLocal},
    {"0251.0376.0251.0376", Verdict::kLinkLocal},
    {"2852039166", Verdict::kLinkLocal},
    {"169.254.43518", Verdict::kLinkLocal},
    {"169.16689662", Verdict::kLinkLocal},
    {"127.1", Verdict::kLoopback},
    {"0177.1", Verdict::kLoopback},
    {"0x7f.1", Verdict::kLoopback},
    {"0", Verdict::kLoopback},
    {"2130706433", Verdict::kLoopback},
    {"127.0.0.1.", Verdict::kLoopback},
    {"169.254.169.254.", Verdict::kLinkLocal},
    {"%31%36%39.254.169.254", Verdict::kLinkLocal},
    {"169%2E254%2e169.254", Verdict::kLinkLocal},
    {"[fe80::1%25eth0]", Verdict::kLinkLocal},
    {"fe80::1%eth0", Verdict::kLinkLocal},
    {"FE80::ABCD", Verdict::kLinkLocal},
    {"[::FFFF:127.0.0.1]", Verdict::kLoopback},
    {"localhost", Verdict::kLoopback},
    {"LOCALHOST.", Verdict::kLoopback},
    {"%6cocalhost", Verdict::kLoopback},
    {"a.localhost", Verdict::kLoopback},
    {"localhost.example", Verdict::kAllowed},
    {"vllm-1", Verdict::kAllowed},
    {"127.0.0.1.nip.example", Verdict::kAllowed},
};

class EgressPlace : public testing::TestWithParam<Place> {};

INSTANTIATE_TEST_SUITE_P(Table, EgressPlace, testing::ValuesIn(kPlaces));

Egress blocking(bool link_local, bool loopback, bool private_ranges) {
  Egress egress;
  egress.block_link_local = link_local;
  egress.block_loopback = loopback;
  egress.block_private = private_ranges;
  return egress;
}

TEST_P(EgressPlace, is_denied_for_its_range) {
  EXPECT_EQ(EgressPolicy(blocking(true, true, true)).check_host(GetParam().host), GetParam().range);
}

TEST_P(EgressPlace, is_let_through_when_only_other_ranges_are_blocked) {
  const Verdict range = GetParam().range;
  const EgressPolicy others(blocking(range != Verdict::kLinkLocal, range != Verdict::kLoopback,
                                     range != Verdict::kPrivate));
  EXPECT_EQ(others.check_host(GetParam().host),
            range == Verdict::kMulticast ? Verdict::kMulticast : Verdict::kAllowed);
}

TEST_P(EgressPlace, is_excepted_by_its_own_name_unless_it_is_multicast) {
  Egress egress = blocking(true, true, true);
  egress.allow_hosts = {"other", std::string(GetParam().host)};
  EXPECT_EQ(EgressPolicy(egress).check_host(GetParam().host),
            GetParam().range == Verdict::kMulticast ? Verdict::kMulticast : Verdict::kAllowed);
}

TEST(Egress, by_default_only_link_local_and_multicast_are_blocked) {
  const EgressPolicy policy{Egress{}};
  EXPECT_EQ(policy.check_host("169.254.169.254"), Verdict::kLinkLocal);
  EXPECT_EQ(policy.check_host("ff02::1"), Verdict::kMulticast);
  EXPECT_EQ(policy.check_host("127.0.0.1"), Verdict::kAllowed);
  EXPECT_EQ(policy.check_host("10.0.0.1"), Verdict::kAllowed);
}

TEST(Egress, a_name_is_judged_by_the_address_it_resolved_to) {
  const EgressPolicy policy{Egress{}};
  EXPECT_EQ(policy.check_host("rebinding.example"), Verdict::kAllowed);
  EXPECT_EQ(policy.check(*parse_ip_literal("169.254.169.254"), "rebinding.example"),
            Verdict::kLinkLocal);
  EXPECT_EQ(policy.check(*parse_ip_literal("::ffff:a9fe:a9fe"), "rebinding.example"),
            Verdict::kLinkLocal);
  EXPECT_EQ(policy.check(*parse_ip_literal("8.8.8.8"), "rebinding.example"), Verdict::kAllowed);
}

TEST(Egress, an_exception_is_for_the_whole_name_and_for_nobody_else) {
  Egress egress;
  egress.allow_hosts = {"Metadata.Example.", "169.254.1.1"};
  const EgressPolicy policy(egress);
  const IpAddress address = *parse_ip_literal("169.254.1.1");
  EXPECT_EQ(policy.check(address, "metadata.example"), Verdict::kAllowed);
  EXPECT_EQ(policy.check(address, "a.metadata.example"), Verdict::kLinkLocal);
  EXPECT_EQ(policy.check(address, "metadata.example.com"), Verdict::kLinkLocal);
  EXPECT_EQ(policy.check(address, "rebinding.example"), Verdict::kLinkLocal);
  EXPECT_EQ(policy.check(address, "0xa9fe0101"), Verdict::kAllowed);
}

TEST(Egress, each_refusal_names_its_switch) {
  EXPECT_NE(explain(Verdict::kLinkLocal).find("block_link_local"), std::string_view::npos);
  EXPECT_NE(explain(Verdict::kLoopback).find("block_loopback"), std::string_view::npos);
  EXPECT_NE(explain(Verdict::kPrivate).find("block_private"), std::string_view::npos);
  EXPECT_EQ(explain(Verdict::kAllowed), "");
}

}  // namespace
}  // namespace rolter::config
