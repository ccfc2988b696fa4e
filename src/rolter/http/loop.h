#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include "rolter/base/time.h"
#include "rolter/http/asio.h"
#include "rolter/http/deadline_wheel.h"
#include "rolter/http/readiness.h"
#include "rolter/http/step_times.h"
#include "rolter/http/turns.h"

namespace rolter::http {

/// What connections share with the event loop they live on. One thread.
class Loop {
 public:
  Loop(asio::io_context& io, const Clock& clock)
      : io_(io), times_(clock), readiness_(io, turns_, times_), turns_(io) {}
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  [[nodiscard]] asio::io_context& io() { return io_; }
  [[nodiscard]] Readiness& readiness() { return readiness_; }
  [[nodiscard]] DeadlineWheel& wheel() { return wheel_; }
  /// Of when this step of a coroutine first asked, in steps that Readiness makes.
  [[nodiscard]] TimePoint now() const { return times_.now(); }
  [[nodiscard]] WallTime wall_now() const { return times_.wall_now(); }

  /// How often one coroutine may read in a row without waiting, however fast its peer is, before it
  /// lets others have a turn: at most a megabyte.
  static constexpr unsigned kReadsInARow = 16;

  /// To await before sending.
  [[nodiscard]] Turns::Wait turn() { return turns_.next(); }

  /// Working memory between two suspension points: bursts are read here, so that a connection keeps
  /// only a small buffer of its own. Its content does not survive a co_await.
  [[nodiscard]] std::span<char> scratch() { return {scratch_->data(), scratch_->size()}; }

 private:
  static constexpr std::size_t kScratchBytes = 65'536;

  asio::io_context& io_;
  StepTimes times_;
  DeadlineWheel wheel_;
  std::unique_ptr<std::array<char, kScratchBytes>> scratch_ =
      std::make_unique<std::array<char, kScratchBytes>>();
  Readiness readiness_;
  Turns turns_;  // last: who waits there may use all of the above to its end
};

}  // namespace rolter::http
