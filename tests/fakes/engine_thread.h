#pragma once

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "rolter/http/loop.h"
#include "rolter/simulator/sim_engine.h"

namespace rolter::fakes {

/// Simulated engines on an event loop with a thread of its own, for tests that talk to them by
/// sockets. Destruction kills them.
class EngineThread {
 public:
  EngineThread();
  ~EngineThread();
  EngineThread(const EngineThread&) = delete;
  EngineThread& operator=(const EngineThread&) = delete;

  /// Starts an engine. A throw means that it could not listen.
  simulator::SimEngine& start(simulator::EngineOptions options);

  /// Runs `work` on the loop and waits for it: the only way to touch an engine.
  void run(const std::function<void()>& work);

  [[nodiscard]] http::Loop& loop() { return loop_; }

  /// Waits until nothing of the engine runs, and destroys it.
  void await_closed(simulator::SimEngine& engine);

  /// Exceptions that escaped a task.
  [[nodiscard]] const std::vector<std::string>& bugs() const { return bugs_; }

 private:
  class SteadyClock final : public Clock {
   public:
    TimePoint now() const override { return std::chrono::steady_clock::now(); }
    WallTime wall_now() const override { return std::chrono::system_clock::now(); }
  };

  void turn_wheel();

  SteadyClock clock_;
  http::asio::io_context io_{1};
  http::Loop loop_{io_, clock_};
  http::asio::executor_work_guard<http::Executor> stay_{io_.get_executor()};
  http::asio::basic_waitable_timer<
      std::chrono::steady_clock, http::asio::wait_traits<std::chrono::steady_clock>, http::Executor>
      wheel_timer_{io_.get_executor()};
  bool turning_ = true;
  std::vector<std::unique_ptr<simulator::SimEngine>> engines_;
  std::vector<std::string> bugs_;
  std::thread thread_;
};

}  // namespace rolter::fakes
