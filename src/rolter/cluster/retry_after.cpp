#include "rolter/cluster/retry_after.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "rolter/base/ascii.h"

namespace rolter::cluster {
namespace {

using std::chrono::seconds;

constexpr seconds kMost = std::chrono::hours{24 * 365};
constexpr std::array<std::string_view, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Reads a date from left to right; the first thing that does not fit makes it bad for good.
class DateReader {
 public:
  explicit DateReader(std::string_view text) : rest_(text) {}

  void expect(std::string_view literal) {
    if (!rest_.starts_with(literal)) {
      good_ = false;
      return;
    }
    rest_.remove_prefix(literal.size());
  }

  int number(std::size_t digits) {
    if (rest_.size() < digits || !std::ranges::all_of(rest_.substr(0, digits), is_digit)) {
      good_ = false;
      return 0;
    }
    int value = 0;
    for (const char c : rest_.substr(0, digits)) {
      value = value * 10 + (c - '0');
    }
    rest_.remove_prefix(digits);
    return value;
  }

  /// asctime pads the day with a space.
  int day_padded_by_space() {
    if (rest_.starts_with(' ')) {
      rest_.remove_prefix(1);
      return number(1);
    }
    return number(2);
  }

  unsigned month() {
    const auto found = std::ranges::find(kMonths, rest_.substr(0, 3));
    if (found == kMonths.end()) {
      good_ = false;
      return 0;
    }
    rest_.remove_prefix(3);
    return static_cast<unsigned>(found - kMonths.begin()) + 1;
  }

  seconds time_of_day() {
    const int hours = number(2);
    expect(":");
    const int minutes = number(2);
    expect(":");
    const int second = number(2);
    good_ = good_ && hours < 24 && minutes < 60 && second <= 60;  // 60: a leap second
    return std::chrono::hours{hours} + std::chrono::minutes{minutes} + seconds{second};
  }

  [[nodiscard]] bool done() const { return good_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool good_ = true;
};

struct Date {
  int year = 0;
  unsigned month = 0;
  int day = 0;
  seconds time{};
};

std::optional<WallTime> to_time(const DateReader& reader, const Date& date) {
  const std::chrono::year_month_day day{std::chrono::year{date.year},
                                        std::chrono::month{date.month},
                                        std::chrono::day{static_cast<unsigned>(date.day)}};
  // Years that the wall clock's nanoseconds can hold.
  if (!reader.done() || !day.ok() || date.year < 1700 || date.year > 2250) {
    return std::nullopt;
  }
  return WallTime{std::chrono::sys_days{day}} + date.time;
}

std::optional<WallTime> read_fixed(DateReader reader) {  // after "Sun, "
  Date date;
  date.day = reader.number(2);
  reader.expect(" ");
  date.month = reader.month();
  reader.expect(" ");
  date.year = reader.number(4);
  reader.expect(" ");
  date.time = reader.time_of_day();
  reader.expect(" GMT");
  return to_time(reader, date);
}

std::optional<WallTime> read_rfc850(DateReader reader, WallTime now) {  // after "Sunday, "
  const std::chrono::year_month_day today{std::chrono::floor<std::chrono::days>(now)};
  const int this_year = static_cast<int>(today.year());
  Date date;
  date.day = reader.number(2);
  reader.expect("-");
  date.month = reader.month();
  reader.expect("-");
  date.year = this_year - this_year % 100 + reader.number(2);
  if (date.year > this_year + 50) {
    date.year -= 100;
  }
  reader.expect(" ");
  date.time = reader.time_of_day();
  reader.expect(" GMT");
  return to_time(reader, date);
}

std::optional<WallTime> read_asctime(DateReader reader) {  // after "Sun "
  Date date;
  date.month = reader.month();
  reader.expect(" ");
  date.day = reader.day_padded_by_space();
  reader.expect(" ");
  date.time = reader.time_of_day();
  reader.expect(" ");
  date.year = reader.number(4);
  return to_time(reader, date);
}

}  // namespace

std::optional<WallTime> parse_http_date(std::string_view text, WallTime now) {
  const std::size_t comma = text.find(", ");
  if (comma == 3) {
    return read_fixed(DateReader{text.substr(5)});
  }
  if (comma != std::string_view::npos) {
    return read_rfc850(DateReader{text.substr(comma + 2)}, now);
  }
  return text.size() > 4 ? read_asctime(DateReader{text.substr(4)}) : std::nullopt;
}

std::optional<seconds> parse_retry_after(std::string_view field, WallTime now) {
  const std::string_view text = trim_blanks(field);
  if (text.empty()) {
    return std::nullopt;
  }
  if (std::ranges::all_of(text, is_digit)) {
    std::int64_t value = 0;
    for (const char c : text) {
      value = std::min<std::int64_t>(value * 10 + (c - '0'), kMost.count());
    }
    return seconds{value};
  }
  const std::optional<WallTime> date = parse_http_date(text, now);
  if (!date) {
    return std::nullopt;
  }
  return std::clamp(std::chrono::ceil<seconds>(*date - now), seconds{0}, kMost);
}

}  // namespace rolter::cluster
