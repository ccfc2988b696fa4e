#include "rolter/admission/minute_window.h"

#include <algorithm>

namespace rolter::admission {
namespace {

std::int64_t second_of(TimePoint time) {
  return std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count();
}

}  // namespace

void MinuteWindow::advance(TimePoint now) {
  const std::int64_t second = second_of(now);
  if (second >= newest_ + kSeconds) {
    counts_ = {};
    total_ = 0;
    newest_ = second;
  }
  while (newest_ < second) {
    ++newest_;
    total_ -= at(newest_);
    at(newest_) = 0;
  }
}

MinuteWindow::Second MinuteWindow::add(TimePoint now, std::uint64_t amount) {
  advance(now);
  at(newest_) += amount;
  total_ += amount;
  return Second{newest_};
}

void MinuteWindow::take_back(Second second, std::uint64_t amount) {
  const auto when = static_cast<std::int64_t>(second);
  if (when > newest_ - kSeconds) {
    at(when) -= amount;
    total_ -= amount;
  }
}

std::uint64_t MinuteWindow::total(TimePoint now) {
  advance(now);
  return total_;
}

Duration MinuteWindow::until_at_most(TimePoint now, std::uint64_t amount) {
  advance(now);
  std::uint64_t left = total_;
  std::int64_t second = newest_ - kSeconds;
  while (left > amount) {
    ++second;
    left -= at(second);
  }
  // The last second that must go leaves at the start of second + kSeconds.
  const TimePoint free{std::chrono::seconds{second + kSeconds}};
  return total_ <= amount ? Duration{0} : std::max(free - now, Duration{0});
}

}  // namespace rolter::admission
