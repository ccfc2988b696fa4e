#include "rolter/admission/rate_limit_headers.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdint>

namespace rolter::admission {

std::string format_reset(Duration duration) {
  const std::int64_t millis = std::chrono::ceil<std::chrono::milliseconds>(duration).count();
  if (millis > 0 && millis < 1000) {
    return fmt::format("{}ms", millis);
  }
  const std::int64_t minutes = millis / 60'000;
  const double seconds = static_cast<double>(millis % 60'000) / 1000;
  return minutes > 0 ? fmt::format("{}m{}s", minutes, seconds) : fmt::format("{}s", seconds);
}

std::vector<std::pair<std::string_view, std::string>> rate_limit_headers(const KeyStatus& status) {
  std::vector<std::pair<std::string_view, std::string>> headers;
  if (const Allowance& requests = status.requests; requests.limit != 0) {
    headers.emplace_back("x-ratelimit-limit-requests", fmt::format("{}", requests.limit));
    headers.emplace_back("x-ratelimit-remaining-requests", fmt::format("{}", requests.remaining));
    headers.emplace_back("x-ratelimit-reset-requests", format_reset(requests.reset));
  }
  if (const Allowance& tokens = status.tokens; tokens.limit != 0) {
    headers.emplace_back("x-ratelimit-limit-tokens", fmt::format("{}", tokens.limit));
    headers.emplace_back("x-ratelimit-remaining-tokens", fmt::format("{}", tokens.remaining));
    headers.emplace_back("x-ratelimit-reset-tokens", format_reset(tokens.reset));
  }
  return headers;
}

}  // namespace rolter::admission
