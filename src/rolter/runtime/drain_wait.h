#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>

#include "rolter/base/time.h"

namespace rolter::runtime {

/// Where whoever drains a gateway waits for its steps, and whoever is in a hurry ends that. Any
/// thread.
class DrainWait {
 public:
  /// No waiting any more, now and later.
  void hurry();

  /// Waits until `done`, which is asked under a lock after each changed(), until `latest` (steady
  /// clock) or until hurry(). Returns what `done` says then.
  bool until(TimePoint latest, const std::function<bool()>& done);

  /// What `done` depends on has changed, `change` itself being made under the lock.
  void changed(const std::function<void()>& change);

 private:
  std::mutex mutex_;
  std::condition_variable news_;
  bool hurried_ = false;
};

}  // namespace rolter::runtime
