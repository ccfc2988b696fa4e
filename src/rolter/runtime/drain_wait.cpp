#include "rolter/runtime/drain_wait.h"

namespace rolter::runtime {

void DrainWait::hurry() {
  changed([this] { hurried_ = true; });
}

bool DrainWait::until(TimePoint latest, const std::function<bool()>& done) {
  std::unique_lock lock(mutex_);
  news_.wait_until(lock, latest, [&] { return hurried_ || done(); });
  return done();
}

void DrainWait::changed(const std::function<void()>& change) {
  const std::lock_guard lock(mutex_);
  change();
  news_.notify_all();
}

}  // namespace rolter::runtime
