#include "rolter/http/bell.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/post.hpp>

namespace rolter::http {

std::function<void()> Bell::rope() const {
  return [&io = loop_.io(), state = state_] {
    asio::post(io, [state] {
      state->rung = true;
      if (state->waiting != nullptr) {
        state->waiting->cancel();
      }
    });
  };
}

Task<> Bell::wait(TimePoint latest) {
  if (!state_->rung) {
    LoopTimer timer(loop_.io().get_executor());
    timer.expires_at(latest);
    state_->waiting = &timer;
    co_await timer.async_wait(asio::as_tuple(asio::deferred));
    state_->waiting = nullptr;
  }
  state_->rung = false;
}

void Bell::cancel() {
  if (state_->waiting != nullptr) {
    state_->waiting->cancel();
  }
}

}  // namespace rolter::http
