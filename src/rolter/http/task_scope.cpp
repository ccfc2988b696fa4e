#include "rolter/http/task_scope.h"

#include <cassert>
#include <stdexcept>
#include <utility>

namespace rolter::http {

TaskScope::TaskScope(Loop& loop, BugReport on_bug) : loop_(loop), on_bug_(std::move(on_bug)) {}

TaskScope::~TaskScope() {
  assert(running_ == 0);
}

void TaskScope::spawn(std::string_view name, Task<> task) {
  ++running_;
  http::spawn(loop_.io().get_executor(), std::move(task),
              [this, name](const std::exception_ptr& exception) {
                if (exception) {
                  try {
                    std::rethrow_exception(exception);
                  } catch (const std::exception& bug) {
                    on_bug_(name, bug);
                  } catch (...) {
                    on_bug_(name, std::runtime_error("unknown exception"));
                  }
                }
                finish();
              });
}

void TaskScope::finish() {
  --running_;
  if (running_ == 0 && on_empty_) {
    std::exchange(on_empty_, nullptr)();
  }
}

void TaskScope::when_empty(std::function<void()> callback) {
  if (running_ == 0) {
    callback();
  } else {
    on_empty_ = std::move(callback);
  }
}

}  // namespace rolter::http
