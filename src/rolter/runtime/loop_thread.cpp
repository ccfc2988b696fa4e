#include "rolter/runtime/loop_thread.h"

#include <pthread.h>

#include <boost/asio/post.hpp>
#include <future>
#include <utility>

namespace rolter::runtime {

LoopThread::LoopThread(std::string name, const Clock& clock, telemetry::AppLog& log)
    : name_(std::move(name)),
      loop_(io_, clock),
      scope_(loop_,
             [&log](std::string_view task, const std::exception& bug) {
               log.error("bug: task {} ended with an exception: {}", task, bug.what());
             }),
      wheel_timer_(io_.get_executor()) {}

LoopThread::~LoopThread() {
  join();
}

void LoopThread::start() {
  stay_.emplace(io_.get_executor());
  wheel_turned_ = loop_.now();
  turn_wheel();
  thread_ = std::thread([this] {
    ::pthread_setname_np(::pthread_self(), name_.c_str());
    io_.run();
  });
}

void LoopThread::turn_wheel() {
  // By the time that has passed and not by one: a loop that was busy catches up.
  const Duration passed = loop_.now() - wheel_turned_;
  if (on_lag_ && passed >= http::DeadlineWheel::kTick) {
    on_lag_(passed - http::DeadlineWheel::kTick);
  }
  const auto ticks = passed / http::DeadlineWheel::kTick;
  wheel_turned_ += ticks * http::DeadlineWheel::kTick;
  loop_.wheel().advance(static_cast<std::uint64_t>(ticks));
  wheel_timer_.expires_at(wheel_turned_ + http::DeadlineWheel::kTick);
  wheel_timer_.async_wait([this](const boost::system::error_code& ec) {
    if (!ec && stay_) {
      turn_wheel();
    }
  });
}

void LoopThread::post(std::function<void()> work) {
  http::asio::post(io_, std::move(work));
}

void LoopThread::run(const std::function<void()>& work) {
  std::promise<void> done;
  post([&] {
    work();
    done.set_value();
  });
  done.get_future().wait();
}

void LoopThread::join() {
  if (!thread_.joinable()) {
    return;
  }
  post([this] {
    scope_.when_empty([this] {
      stay_.reset();
      wheel_timer_.cancel();
    });
  });
  thread_.join();
}

}  // namespace rolter::runtime
