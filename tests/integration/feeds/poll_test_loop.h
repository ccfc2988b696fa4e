#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rolter/feeds/http_get.h"
#include "rolter/http/loop.h"
#include "rolter/http/task_scope.h"
#include "tests/fakes/http_responder.h"
#include "tests/fakes/real_clock.h"

namespace rolter::feeds {

/// An event loop with a turning wheel, run by the test until something has happened.
class PollTest : public ::testing::Test {
 protected:
  ~PollTest() override {
    turning_ = false;
    wheel_timer_.cancel();
    io_.run_for(std::chrono::seconds{5});
    EXPECT_EQ(scope_.running(), 0U) << "a poll runs on after it was stopped";
  }

  /// Runs the loop until `happened`; a failure when that takes longer than ten seconds.
  void run_until(const std::function<bool()>& happened) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds{10};
    while (!happened()) {
      ASSERT_LT(std::chrono::steady_clock::now(), limit) << "it did not happen";
      io_.run_one_for(std::chrono::milliseconds{100});
    }
  }

  static HttpSource source_of(const fakes::HttpResponder& responder) {
    return {.addresses = std::make_shared<http::AddressCell>(
                std::make_shared<const http::Addresses>(1, responder.endpoint())),
            .egress = [](const http::Endpoint&) { return Result<void>{}; },
            .fields = "Host: replica\r\nAuthorization: Bearer of-the-provider\r\n"};
  }

 private:
  void turn_wheel() {
    wheel_timer_.expires_after(http::DeadlineWheel::kTick);
    wheel_timer_.async_wait([this](boost::system::error_code error) {
      if (!error && turning_) {
        loop_.wheel().advance(1);
        turn_wheel();
      }
    });
  }

  bool turning_ = true;
  fakes::RealClock clock_;

 protected:
  PollTest() { turn_wheel(); }

  http::asio::io_context io_{1};
  http::Loop loop_{io_, clock_};
  http::TaskScope scope_{loop_, [](std::string_view task, const std::exception& bug) {
                           ADD_FAILURE() << task << ": " << bug.what();
                         }};
  http::LoopTimer wheel_timer_{io_.get_executor()};
};

}  // namespace rolter::feeds
