#pragma once

#include <cstdint>
#include <functional>
#include <utility>

namespace rolter::proxy {

/// Why a request's wait for its replica was ended from outside.
enum class InterruptCause : std::uint8_t {
  kNone,
  kClientGone,
  kNoFirstByte,  // [timeouts] request_secs
  kStalled,      // [timeouts] idle_secs
  kReplicaLost,  // its port refuses while our answer is silent
};

/// Ends whatever the request waits for now, from a deadline or the client's departure. The first
/// cause stands. One loop.
class Interrupt {
 public:
  /// While a Guard lives, fire() calls its function. Guards nest; the innermost is called.
  class Guard {
   public:
    Guard(Interrupt& interrupt, std::function<void()> abort)
        : interrupt_(interrupt), outer_(std::exchange(interrupt.abort_, std::move(abort))) {}
    ~Guard() { interrupt_.abort_ = std::move(outer_); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    Interrupt& interrupt_;
    std::function<void()> outer_;
  };

  void fire(InterruptCause cause) {
    if (cause_ == InterruptCause::kNone) {
      cause_ = cause;
      if (abort_) {
        abort_();
      }
    }
  }

  [[nodiscard]] InterruptCause cause() const { return cause_; }
  [[nodiscard]] bool client_gone() const { return cause_ == InterruptCause::kClientGone; }

  /// A cause that concerned one attempt is over with it; a client that left stays gone.
  void next_attempt() {
    if (cause_ != InterruptCause::kClientGone) {
      cause_ = InterruptCause::kNone;
    }
  }

 private:
  InterruptCause cause_ = InterruptCause::kNone;
  std::function<void()> abort_;
};

}  // namespace rolter::proxy
