#include "rolter/http/turns.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "rolter/http/task.h"

namespace rolter::http {
namespace {

class TurnsTest : public ::testing::Test {
 protected:
  Task<> read_then_send(std::string name, int times) {
    for (int i = 0; i < times; ++i) {
      log_.push_back("read " + name);
      co_await turns_->next();
      log_.push_back("send " + name);
    }
  }

  void start(Task<> task) {
    spawn(io_.get_executor(), std::move(task),
          [](const std::exception_ptr& thrown) { EXPECT_EQ(thrown, nullptr); });
  }

  asio::io_context io_{1};
  std::unique_ptr<Turns> turns_ = std::make_unique<Turns>(io_);
  std::vector<std::string> log_;
};

TEST_F(TurnsTest, all_that_is_there_is_read_before_anything_is_sent) {
  start(read_then_send("a", 1));
  start(read_then_send("b", 1));
  start(read_then_send("c", 1));
  io_.run();
  EXPECT_EQ(log_,
            (std::vector<std::string>{"read a", "read b", "read c", "send a", "send b", "send c"}));
}

TEST_F(TurnsTest, who_comes_back_at_once_waits_for_the_next_turn) {
  start(read_then_send("a", 2));
  start(read_then_send("b", 1));
  io_.run();
  EXPECT_EQ(log_,
            (std::vector<std::string>{"read a", "read b", "send a", "read a", "send b", "send a"}));
}

TEST_F(TurnsTest, what_waits_is_destroyed_with_its_loop) {
  const auto held = std::make_shared<int>(1);
  start([](Turns& turns, std::shared_ptr<int> kept) -> Task<> {
    co_await turns.next();
    ADD_FAILURE() << "went on without a loop, holding " << *kept;
  }(*turns_, held));
  io_.run_one();
  EXPECT_EQ(held.use_count(), 2);
  turns_.reset();
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace rolter::http
