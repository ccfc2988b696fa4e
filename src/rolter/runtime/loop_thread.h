#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "rolter/http/loop.h"
#include "rolter/http/task_scope.h"
#include "rolter/telemetry/app_log.h"

namespace rolter::runtime {

/// An io_context, the loop on it with its turning wheel, and the thread that runs it.
class LoopThread {
 public:
  /// `name` is the thread's, at most 15 characters.
  LoopThread(std::string name, const Clock& clock, telemetry::AppLog& log);
  ~LoopThread();
  LoopThread(const LoopThread&) = delete;
  LoopThread& operator=(const LoopThread&) = delete;

  [[nodiscard]] http::Loop& loop() { return loop_; }
  [[nodiscard]] http::TaskScope& scope() { return scope_; }

  /// Told at every turn of the wheel how late it was. Before start().
  void on_lag(std::function<void(Duration)> report) { on_lag_ = std::move(report); }

  void start();

  /// Runs `work` on the loop. Any thread.
  void post(std::function<void()> work);

  /// Runs `work` on the loop and waits for it. Not from the loop itself; only between start() and
  /// join().
  void run(const std::function<void()>& work);

  /// Ends the thread once every task of the scope has ended, which the caller has told them to. Not
  /// from the loop itself. Does nothing when not started or ended already.
  void join();

 private:
  void turn_wheel();

  std::string name_;
  http::asio::io_context io_{1};  // one thread: no locks inside
  http::Loop loop_;
  http::TaskScope scope_;
  http::LoopTimer wheel_timer_;
  std::optional<http::asio::executor_work_guard<http::Executor>> stay_;
  TimePoint wheel_turned_{};
  std::function<void(Duration)> on_lag_;
  std::thread thread_;
};

}  // namespace rolter::runtime
