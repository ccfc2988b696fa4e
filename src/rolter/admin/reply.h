#pragma once

#include <string>
#include <string_view>

namespace rolter::admin {

/// A whole answer of the admin listener.
struct Reply {
  int status = 200;
  std::string_view content_type = "application/json";
  std::string body{};
  std::string extra_fields{};  // complete lines
};

/// {"error":{...}} as on the API. `message` says what to do.
[[nodiscard]] Reply refusal(int status, std::string_view code, std::string_view message);

/// "POST to it": 405.
[[nodiscard]] Reply method_not_allowed(std::string_view allowed);

}  // namespace rolter::admin
