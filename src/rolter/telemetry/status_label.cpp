#include "rolter/telemetry/status_label.h"

#include <algorithm>
#include <cstdint>

namespace rolter::telemetry {
namespace {

constexpr std::size_t index_of(std::string_view name) {
  return static_cast<std::size_t>(std::ranges::find(kStatusNames, name) - kStatusNames.begin());
}

constexpr std::size_t index_of(int status) {
  const std::array<char, 3> digits{static_cast<char>('0' + status / 100),
                                   static_cast<char>('0' + status / 10 % 10),
                                   static_cast<char>('0' + status % 10)};
  const std::size_t exact = index_of(std::string_view{digits.data(), digits.size()});
  if (exact < kStatusNames.size()) {
    return exact;
  }
  const std::array<char, 3> status_class{digits[0], 'x', 'x'};
  return index_of(std::string_view{status_class.data(), status_class.size()});
}

constexpr int kFirst = 200;
constexpr int kLast = 599;

constexpr auto kIndexes = [] {
  std::array<std::uint8_t, kLast - kFirst + 1> indexes{};
  for (int status = kFirst; status <= kLast; ++status) {
    indexes.at(static_cast<std::size_t>(status - kFirst)) =
        static_cast<std::uint8_t>(index_of(status));
  }
  return indexes;
}();

constexpr std::array<std::string_view, 9> kShownAtZero{"200", "400", "404", "429", "499",
                                                       "500", "502", "503", "504"};

}  // namespace

std::size_t status_label_index(int status) {
  if (status < kFirst || status > kLast) {
    return index_of("5xx");
  }
  return kIndexes.at(static_cast<std::size_t>(status - kFirst));
}

bool status_shown_at_zero(std::size_t index) {
  return std::ranges::find(kShownAtZero, kStatusNames.at(index)) != kShownAtZero.end();
}

}  // namespace rolter::telemetry
