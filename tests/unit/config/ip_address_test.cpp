#include "rolter/config/ip_address.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <random>
#include <string>
#include <string_view>

namespace rolter::config {
namespace {

std::string parsed(std::string_view host) {
  const auto address = parse_ip_literal(host);
  return address ? to_string(*address) : "a name";
}

TEST(IpAddress, the_four_spellings_of_inet_aton_are_read) {
  EXPECT_EQ(parsed("10.1.2.3"), "10.1.2.3");
  EXPECT_EQ(parsed("10.1.515"), "10.1.2.3");
  EXPECT_EQ(parsed("10.66051"), "10.1.2.3");
  EXPECT_EQ(parsed("167838211"), "10.1.2.3");
}

TEST(IpAddress, octal_and_hexadecimal_parts_are_read) {
  EXPECT_EQ(parsed("012.01.02.03"), "10.1.2.3");
  EXPECT_EQ(parsed("0xa.0x1.0X2.3"), "10.1.2.3");
  EXPECT_EQ(parsed("0x0a010203"), "10.1.2.3");
  EXPECT_EQ(parsed("01200201003"), "10.1.2.3");
  EXPECT_EQ(parsed("0000000012.1.2.3"), "10.1.2.3");
  EXPECT_EQ(parsed("0"), "0.0.0.0");
}

TEST(IpAddress, what_inet_aton_refuses_is_a_name) {
  for (const char* host :
       {"", ".", "256.0.0.1", "1.2.3.256", "1.2.65536", "1.16777216", "4294967296", "1.2.3.4.5",
        "1..2.3", ".1.2.3", "08.1.2.3", "0x", "0xg", "1.2.3.x", "-1", "+1", "1 ", "a", "1e3"}) {
    EXPECT_EQ(parsed(host), "a name") << host;
  }
}

TEST(IpAddress, ipv6_is_read_with_and_without_brackets) {
  EXPECT_EQ(parsed("::1"), "::1");
  EXPECT_EQ(parsed("[2001:DB8:0::1]"), "2001:db8::1");
  EXPECT_EQ(parsed("::ffff:10.1.2.3"), "::ffff:a01:203");
  EXPECT_EQ(parsed("1::2::3"), "a name");
  EXPECT_EQ(parsed("::g"), "a name");
  EXPECT_EQ(parsed(":"), "a name");
}

// Strings near IPv6: the library's reading is the reference.
TEST(IpAddress, ipv6_is_read_as_inet_pton_does) {
  constexpr auto kPieces = std::to_array<std::string_view>(
      {":", "::", "0", "1", "ffff", "db8", "10.1.2.3", "01.2.3.4", "g", "12345", ".", "1.2"});
  std::mt19937_64 rng(7);
  std::size_t accepted = 0;
  for (int round = 0; round < 50'000; ++round) {
    std::string text = round % 2 == 0 ? "" : "::";
    for (std::size_t pieces = 1 + rng() % 17; pieces > 0; --pieces) {
      text += rng() % 3 == 0 ? kPieces[rng() % kPieces.size()] : round % 3 == 0 ? ":1" : "0:";
    }
    if (text.find(':') == std::string::npos || text.ends_with('.')) {
      continue;  // IPv4, or a trailing dot that we drop
    }
    IpAddress::V6 bytes{};
    const bool is_address = inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1;
    accepted += is_address ? 1 : 0;
    const auto ours = parse_ip_literal(text);
    ASSERT_EQ(ours, is_address ? std::optional(IpAddress(bytes)) : std::nullopt) << text;
  }
  EXPECT_GT(accepted, 500U);
}

TEST(IpAddress, what_is_written_reads_back_as_the_same_address) {
  std::mt19937_64 rng(7);
  for (int round = 0; round < 20'000; ++round) {
    IpAddress::V6 bytes{};
    for (std::size_t i = 0; i < 16; i += 2) {
      if (rng() % 3 != 0) {
        bytes[i] = static_cast<std::uint8_t>(rng() % 2 == 0 ? 0 : rng());
        bytes[i + 1] = static_cast<std::uint8_t>(rng());
      }
    }
    const IpAddress address(bytes);
    std::array<char, INET6_ADDRSTRLEN> text{};
    inet_ntop(AF_INET6, bytes.data(), text.data(), text.size());
    const bool is_dotted = std::string_view(text.data()).find('.') != std::string_view::npos;
    if (!is_dotted) {
      ASSERT_EQ(to_string(address), text.data());
    }
    ASSERT_EQ(parse_ip_literal(to_string(address)), address) << text.data();
  }
}

TEST(IpAddress, zone_case_encoding_and_a_trailing_dot_do_not_matter) {
  EXPECT_EQ(parsed("fe80::1%eth0"), "fe80::1");
  EXPECT_EQ(parsed("[fe80::1%25eth0]"), "fe80::1");
  EXPECT_EQ(parsed("fe80::1%ab"), "fe80::1");
  EXPECT_EQ(parsed("FE80::A"), "fe80::a");
  EXPECT_EQ(parsed("10.1.2.3."), "10.1.2.3");
  EXPECT_EQ(parsed("%31%30.1.2.3"), "10.1.2.3");
  EXPECT_EQ(parsed("10%2e1.2.3"), "10.1.2.3");
  EXPECT_EQ(parsed("%3a%3A1"), "::1");
  EXPECT_EQ(parsed("10.1.2.3.."), "a name");
}

TEST(IpAddress, an_embedded_address_is_taken_out) {
  const auto inner = [](std::string_view host) {
    return to_string(parse_ip_literal(host)->unwrapped());
  };
  EXPECT_EQ(inner("::ffff:10.1.2.3"), "10.1.2.3");
  EXPECT_EQ(inner("::10.1.2.3"), "10.1.2.3");
  EXPECT_EQ(inner("64:ff9b::a01:203"), "10.1.2.3");
  EXPECT_EQ(inner("2002:a01:203::1"), "10.1.2.3");
  EXPECT_EQ(inner("64:ff9b:1::a01:203"), "64:ff9b:1::a01:203");
  EXPECT_EQ(inner("2001:db8::1"), "2001:db8::1");
  EXPECT_EQ(inner("10.1.2.3"), "10.1.2.3");
}

TEST(IpAddress, an_ipv4_address_is_not_its_mapped_form) {
  EXPECT_NE(parse_ip_literal("10.1.2.3"), parse_ip_literal("::ffff:10.1.2.3"));
}

TEST(IpAddress, hosts_are_compared_in_one_form) {
  EXPECT_EQ(normalize_host("VLLM-1.Example."), "vllm-1.example");
  EXPECT_EQ(normalize_host("[::1]"), "::1");
  EXPECT_EQ(normalize_host("a%2Eb"), "a.b");
  EXPECT_EQ(normalize_host("100%"), "100");
}

}  // namespace
}  // namespace rolter::config
