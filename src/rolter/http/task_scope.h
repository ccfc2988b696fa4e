#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <string_view>

#include "rolter/http/asio.h"
#include "rolter/http/loop.h"

namespace rolter::http {

/// Owns every coroutine that is started and not awaited on the spot: nothing runs on unnoticed. One
/// loop. A task that ends with an exception is a bug: it is reported to `on_bug` and the others go
/// on.
class TaskScope {
 public:
  using BugReport = std::function<void(std::string_view task, const std::exception& what)>;

  TaskScope(Loop& loop, BugReport on_bug);
  ~TaskScope();
  TaskScope(const TaskScope&) = delete;
  TaskScope& operator=(const TaskScope&) = delete;

  /// Starts a task. `name` must be a literal.
  void spawn(std::string_view name, Task<> task);

  [[nodiscard]] std::size_t running() const { return running_; }

  /// Calls back once when the last task has ended, at once if none runs.
  void when_empty(std::function<void()> callback);

 private:
  void finish();

  Loop& loop_;
  BugReport on_bug_;
  std::size_t running_ = 0;
  std::function<void()> on_empty_;
};

}  // namespace rolter::http
