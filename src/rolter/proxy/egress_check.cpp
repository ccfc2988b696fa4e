#include "rolter/proxy/egress_check.h"

#include <fmt/format.h>

#include <memory>

#include "rolter/config/egress.h"
#include "rolter/config/ip_address.h"

namespace rolter::proxy {
namespace {

config::IpAddress to_ip(const boost::asio::ip::address& address) {
  return address.is_v4() ? config::IpAddress(address.to_v4().to_bytes())
                         : config::IpAddress(address.to_v6().to_bytes());
}

}  // namespace

http::EgressCheck egress_check(const config::Egress& egress, const std::string& host) {
  return [policy = std::make_shared<const config::EgressPolicy>(egress),
          host](const http::Endpoint& to) -> Result<void> {
    const config::Verdict verdict = policy->check(to_ip(to.address()), host);
    if (verdict == config::Verdict::kAllowed) {
      return {};
    }
    return fail(ErrorKind::kDenied, fmt::format("{} ({}): {}", host, to.address().to_string(),
                                                config::explain(verdict)));
  };
}

}  // namespace rolter::proxy
