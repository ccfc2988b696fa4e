#include "rolter/config/egress.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/egress_places.h"
#include "tests/unit/config/loading.h"

namespace rolter::config {
namespace {

using test::kPlaces;
using test::Place;

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

/// A configuration of one provider whose `key` leads to the host.
std::string config_with(std::string_view key, std::string_view host) {
  const bool bare_v6 = host.find(':') != std::string_view::npos && !host.starts_with('[');
  const std::string at = bare_v6 ? fmt::format("[{}]", host) : std::string(host);
  const auto or_else = [&](std::string_view which, std::string_view scheme,
                           std::string_view elsewhere) {
    return fmt::format("{}://{}:{}", scheme, key == which ? at : elsewhere,
                       1000 + which.size());  // a port for each
  };
  return with_line(3, fmt::format("api_base = \"{}\"\n"
                                  "[providers.kv_events]\nendpoint = \"{}\"\n"
                                  "replay_endpoint = \"{}\"\n"
                                  "[providers.lmcache]\nendpoint = \"{}\"\n",
                                  or_else("api_base", "http", "gpu"),
                                  or_else("kv_events.endpoint", "tcp", "gpu"),
                                  or_else("kv_events.replay_endpoint", "tcp", "gpu"),
                                  or_else("lmcache.endpoint", "http", "gpu"))) +
         "[egress]\nblock_loopback = true\nblock_private = true\n";
}

TEST_P(EgressPlace, is_judged_at_load_under_every_key_that_leads_somewhere) {
  const auto [host, range] = GetParam();
  for (const char* key :
       {"api_base", "kv_events.endpoint", "kv_events.replay_endpoint", "lmcache.endpoint"}) {
    const auto faults = errors(config_with(key, host));
    if (range == Verdict::kAllowed) {
      EXPECT_THAT(faults, testing::IsEmpty()) << key;
      continue;
    }
    ASSERT_EQ(faults.size(), 1U) << key;
    EXPECT_NE(faults[0].find(fmt::format("providers[0].{}: ", key)), std::string::npos)
        << faults[0];
    if (host.find("%eth") == std::string_view::npos && host.find("%25") == std::string_view::npos) {
      EXPECT_NE(faults[0].find(fmt::format("is denied: {}", explain(range))), std::string::npos)
          << faults[0];
    }  // else: zones are no part of a URL here, wherever they lead
  }
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
