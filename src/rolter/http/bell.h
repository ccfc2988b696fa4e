#pragma once

#include <functional>
#include <memory>

#include "rolter/base/time.h"
#include "rolter/http/asio.h"
#include "rolter/http/loop.h"

namespace rolter::http {

/// What one coroutine on a loop waits for and any thread may ring. Belongs to the loop.
class Bell {
 public:
  explicit Bell(Loop& loop) : loop_(loop) {}

  /// Rings the bell: to be called on any thread and as often as one likes, as long as the loop
  /// exists. Ringing one that is gone does nothing.
  [[nodiscard]] std::function<void()> rope() const;

  /// Waits until it is rung, which it may have been since the last wait; at most until `latest`.
  [[nodiscard]] Task<> wait(TimePoint latest = TimePoint::max());

  /// Ends the wait. On the loop.
  void cancel();

 private:
  struct State {
    LoopTimer* waiting = nullptr;
    bool rung = false;
  };

  Loop& loop_;
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace rolter::http
