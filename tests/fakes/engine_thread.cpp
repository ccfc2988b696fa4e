#include "tests/fakes/engine_thread.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <future>
#include <stdexcept>
#include <utility>

namespace rolter::fakes {

EngineThread::EngineThread() {
  turn_wheel();
  thread_ = std::thread([this] { io_.run(); });
}

EngineThread::~EngineThread() {
  while (!engines_.empty()) {
    simulator::SimEngine& engine = *engines_.back();
    run([&engine] { engine.kill(); });
    await_closed(engine);
  }
  run([this] {
    stay_.reset();
    turning_ = false;  // the next turn may be on its way, out of cancel()'s reach
    wheel_timer_.cancel();
  });
  thread_.join();
}

void EngineThread::turn_wheel() {
  wheel_timer_.expires_after(http::DeadlineWheel::kTick);
  wheel_timer_.async_wait([this](boost::system::error_code ec) {
    if (!ec && turning_) {
      loop_.wheel().advance(1);
      turn_wheel();
    }
  });
}

void EngineThread::run(const std::function<void()>& work) {
  std::promise<void> done;
  http::asio::post(io_, [&] {
    work();
    done.set_value();
  });
  done.get_future().wait();
}

simulator::SimEngine& EngineThread::start(simulator::EngineOptions options) {
  Result<void> started;
  run([&] {
    engines_.push_back(std::make_unique<simulator::SimEngine>(
        loop_, std::move(options), [this](std::string_view task, const std::exception& what) {
          bugs_.push_back(std::string(task) + ": " + what.what());
        }));
    started = engines_.back()->start();
  });
  simulator::SimEngine& engine = *engines_.back();
  if (!started) {
    await_closed(engine);
    throw std::runtime_error(started.error().message);
  }
  return engine;
}

void EngineThread::await_closed(simulator::SimEngine& engine) {
  std::promise<void> closed;
  run([&] { engine.when_closed([&closed] { closed.set_value(); }); });
  closed.get_future().wait();
  run([&] {
    std::erase_if(engines_, [&engine](const auto& owned) { return owned.get() == &engine; });
  });
}

}  // namespace rolter::fakes
