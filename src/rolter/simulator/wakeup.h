#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/deferred.hpp>
#include <chrono>
#include <utility>

#include "rolter/http/asio.h"
#include "rolter/http/loop.h"

namespace rolter::simulator {

/// A timer on a loop.
using Timer = http::asio::basic_waitable_timer<
    std::chrono::steady_clock, http::asio::wait_traits<std::chrono::steady_clock>, http::Executor>;

/// Lets one coroutine wait for news from elsewhere on the same loop, or for a time.
class Wakeup {
 public:
  explicit Wakeup(http::Loop& loop) : timer_(loop.io().get_executor()) {}

  /// Returns when notify() has been called since the last wait, or at `latest`.
  [[nodiscard]] http::Task<> wait(TimePoint latest = TimePoint::max()) {
    if (!notified_) {
      timer_.expires_at(latest);
      co_await timer_.async_wait(http::asio::as_tuple(http::asio::deferred));
    }
    notified_ = false;
  }

  void notify() {
    notified_ = true;
    timer_.cancel();
  }

 private:
  Timer timer_;
  bool notified_ = false;
};

}  // namespace rolter::simulator
