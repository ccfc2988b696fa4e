// Hosts and URLs: what the C library takes for an IPv4 address is the same one to us (a spelling it
// reads and we do not would slip past the egress policy at load), and what we accept reads back the
// same after it was written.
#include <arpa/inet.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "rolter/config/egress.h"
#include "rolter/config/url.h"

namespace {

using rolter::config::IpAddress;

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

void check_literal(const std::string& host) {
  const auto ours = rolter::config::parse_ip_literal(host);
  in_addr theirs{};
  const bool is_one_word = host.find_first_of(" \t\n\v\f\r%") == std::string::npos &&
                           host.find('\0') == std::string::npos;
  if (is_one_word && inet_aton(host.c_str(), &theirs) == 1) {
    IpAddress::V4 bytes{};
    std::memcpy(bytes.data(), &theirs.s_addr, bytes.size());
    require(ours == IpAddress(bytes));
  }
  if (ours) {
    require(rolter::config::parse_ip_literal(to_string(*ours)) == ours);
    const rolter::config::EgressPolicy policy{rolter::config::Egress{}};
    require(policy.check_host(host) == policy.check(*ours, host));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  check_literal(text);
  if (const auto url = rolter::config::parse_api_base(text)) {
    require(rolter::config::is_host(url->host));
    require(rolter::config::parse_api_base(to_string(*url) + "/v1") == url);
    check_literal(url->host);
  }
  if (const auto url = rolter::config::parse_http_url(text)) {
    require(rolter::config::parse_http_url(to_string(*url)) == url);
  }
  if (const auto endpoint = rolter::config::parse_tcp_endpoint(text)) {
    require(rolter::config::parse_tcp_endpoint(to_string(*endpoint)) == endpoint);
  }
  return 0;
}
