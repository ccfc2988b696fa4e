#include "rolter/simulator/logged_request.h"

#include <array>
#include <charconv>
#include <chrono>

namespace rolter::simulator {
namespace {

template <typename Number>
std::optional<Number> whole(std::string_view digits, int base = 10) {
  Number value = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  return read.ec == std::errc() && read.ptr == digits.data() + digits.size() ? std::optional(value)
                                                                             : std::nullopt;
}

/// "2026-11-30T07:53:41.023Z" as unix time.
std::optional<double> read_time(std::string_view text) {
  constexpr std::size_t kLength = 24;
  constexpr std::array<std::size_t, 7> kAt{0, 5, 8, 11, 14, 17, 20};
  constexpr std::array<std::size_t, 7> kDigits{4, 2, 2, 2, 2, 2, 3};
  if (text.size() != kLength) {
    return std::nullopt;
  }
  std::array<int, 7> parts{};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto part = whole<int>(text.substr(kAt[i], kDigits[i]));
    if (!part) {
      return std::nullopt;
    }
    parts[i] = *part;
  }
  using namespace std::chrono;
  const year_month_day day{year{parts[0]}, month{static_cast<unsigned>(parts[1])},
                           std::chrono::day{static_cast<unsigned>(parts[2])}};
  if (!day.ok()) {
    return std::nullopt;
  }
  const auto at = sys_days{day} + hours{parts[3]} + minutes{parts[4]} + seconds{parts[5]} +
                  milliseconds{parts[6]};
  return duration<double>(at.time_since_epoch()).count();
}

}  // namespace

std::optional<LoggedRequest> read_logged_request(const LogLine& line) {
  constexpr std::size_t kDigits = 16;
  const auto ended = read_time(line.time);
  if (!ended || line.blocks.empty() || line.blocks.size() % kDigits != 0) {
    return std::nullopt;
  }
  LoggedRequest request{.came_s = *ended - line.duration_ms / 1000.0};
  for (std::size_t at = 0; at < line.blocks.size(); at += kDigits) {
    const auto digest = whole<std::uint64_t>(line.blocks.substr(at, kDigits), 16);
    if (!digest) {
      return std::nullopt;
    }
    request.digests.push_back(*digest);
  }
  return request;
}

}  // namespace rolter::simulator
