#include "rolter/http/task.h"

#include <gtest/gtest.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "rolter/http/asio.h"

namespace rolter::http {
namespace {

constexpr auto kDeferred = asio::as_tuple(asio::deferred);

class TaskTest : public ::testing::Test {
 protected:
  void start(Task<> task) {
    spawn(io_->get_executor(), std::move(task), [this](const std::exception_ptr& thrown) {
      ended_ = true;
      thrown_ = thrown;
    });
  }

  std::unique_ptr<asio::io_context> io_ = std::make_unique<asio::io_context>(1);
  bool ended_ = false;
  std::exception_ptr thrown_;
};

Task<std::string> name_of(int number) {
  co_return std::to_string(number);
}

Task<> wait_on(LoopTimer& timer, boost::system::error_code& ended) {
  const auto [ec] = co_await timer.async_wait(kDeferred);
  ended = ec;
}

TEST_F(TaskTest, starts_in_a_later_step_of_its_loop_and_hands_values_up) {
  std::string got;
  start([](std::string& into) -> Task<> { into = co_await name_of(7); }(got));
  EXPECT_TRUE(got.empty());
  io_->run();
  EXPECT_EQ(got, "7");
  EXPECT_TRUE(ended_);
  EXPECT_EQ(thrown_, nullptr);
}

TEST_F(TaskTest, what_it_throws_passes_through_all_that_await_it) {
  start([]() -> Task<> {
    co_await []() -> Task<> {
      throw std::runtime_error("deep");
      co_return;
    }();
  }());
  io_->run();
  ASSERT_TRUE(ended_);
  EXPECT_THROW(std::rethrow_exception(thrown_), std::runtime_error);
}

TEST_F(TaskTest, a_cancelled_wait_goes_on_with_its_error) {
  LoopTimer timer(io_->get_executor());
  timer.expires_after(std::chrono::hours(1));
  boost::system::error_code ended;
  start(wait_on(timer, ended));
  asio::post(*io_, [&timer] { timer.cancel(); });
  io_->run();
  EXPECT_EQ(ended, asio::error::operation_aborted);
}

TEST_F(TaskTest, what_waits_when_its_loop_ends_is_destroyed_with_all_around_it) {
  const auto held = std::make_shared<int>(1);
  start([](asio::io_context& io, std::shared_ptr<int> owned) -> Task<> {
    LoopTimer timer(io.get_executor());
    timer.expires_after(std::chrono::hours(1));
    boost::system::error_code ended;
    co_await wait_on(timer, ended);
    EXPECT_TRUE(owned);
  }(*io_, held));
  io_->poll();
  EXPECT_EQ(held.use_count(), 2);
  io_.reset();
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_FALSE(ended_);
}

TEST_F(TaskTest, one_that_never_started_is_destroyed_with_its_loop) {
  const auto held = std::make_shared<int>(1);
  start([](std::shared_ptr<int> owned) -> Task<> {
    EXPECT_TRUE(owned);
    co_return;
  }(held));
  io_.reset();
  EXPECT_EQ(held.use_count(), 1);
}

TEST_F(TaskTest, a_million_awaits_in_a_row_need_no_stack) {
  std::size_t sum = 0;
  start([](std::size_t& total) -> Task<> {
    for (int i = 0; i < 1'000'000; ++i) {
      total += (co_await name_of(1)).size();
    }
  }(sum));
  io_->run();
  EXPECT_EQ(sum, 1'000'000U);
}

}  // namespace
}  // namespace rolter::http
