#include "rolter/proxy/access.h"

#include "rolter/admission/presented_key.h"
#include "rolter/admission/rate_limit_headers.h"

namespace rolter::proxy {

Result<admission::Caller> authenticate(const GatewayState& state, const http::Fields& fields,
                                       WallTime now) {
  admission::PresentedKey presented;
  for (const http::Field& field : fields) {
    if (http::iequals(field.name, "authorization")) {
      presented.see_authorization(field.value);
    } else if (http::iequals(field.name, "x-api-key")) {
      presented.see_api_key(field.value);
    }
  }
  return state.keys->authenticate(presented, now);
}

std::string limit_fields(const admission::KeyStatus& status) {
  std::string lines;
  for (const auto& [name, value] : admission::rate_limit_headers(status)) {
    lines.append(name).append(": ").append(value).append("\r\n");
  }
  return lines;
}

}  // namespace rolter::proxy
