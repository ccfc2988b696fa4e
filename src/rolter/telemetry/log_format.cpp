#include "rolter/telemetry/log_format.h"

#include <array>
#include <chrono>
#include <cstddef>

namespace rolter::telemetry {
namespace {

template <std::size_t kDigits>
void put(char* to, unsigned value) {
  for (std::size_t i = kDigits; i > 0; --i) {
    to[i - 1] = static_cast<char>('0' + value % 10);
    value /= 10;
  }
}

}  // namespace

std::optional<LogFormat> parse_log_format(std::string_view name) {
  if (name == "json") {
    return LogFormat::kJson;
  }
  if (name == "text") {
    return LogFormat::kText;
  }
  return std::nullopt;
}

std::optional<LogLevel> parse_log_level(std::string_view name) {
  constexpr std::array<std::string_view, 4> kNames{"debug", "info", "warn", "error"};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) {
      return static_cast<LogLevel>(i);
    }
  }
  return std::nullopt;
}

void append_time(std::string& out, WallTime time) {
  const auto days = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date{days};
  const std::chrono::hh_mm_ss clock{std::chrono::floor<std::chrono::milliseconds>(time - days)};
  std::array<char, 24> text{'0', '0', '0', '0', '-', '0', '0', '-', '0', '0', 'T', '0',
                            '0', ':', '0', '0', ':', '0', '0', '.', '0', '0', '0', 'Z'};
  put<4>(&text[0], static_cast<unsigned>(static_cast<int>(date.year())));
  put<2>(&text[5], static_cast<unsigned>(date.month()));
  put<2>(&text[8], static_cast<unsigned>(date.day()));
  put<2>(&text[11], static_cast<unsigned>(clock.hours().count()));
  put<2>(&text[14], static_cast<unsigned>(clock.minutes().count()));
  put<2>(&text[17], static_cast<unsigned>(clock.seconds().count()));
  put<3>(&text[20], static_cast<unsigned>(clock.subseconds().count()));
  out.append(text.data(), text.size());
}

}  // namespace rolter::telemetry
