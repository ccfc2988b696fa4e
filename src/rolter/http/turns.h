#pragma once

#include <boost/asio/post.hpp>
#include <coroutine>
#include <vector>

#include "rolter/http/asio.h"

namespace rolter::http {

/// Where the coroutines of a loop wait until each event that is there by now has been looked at.
/// Whoever is about to send waits here first, so that a busy loop reads all, then sends all: a peer
/// that sleeps is woken once by a batch instead of once by each message, and waking is what costs
/// most of a send (docs/adr/0005). A loop with one event at a time loses an epoll_wait that does
/// not wait. One thread.
class Turns {
 public:
  explicit Turns(asio::io_context& io) : io_(io) {}
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;
  ~Turns() {
    for (const Waiter& waiter : waiting_) {
      waiter.chain.destroy();  // nobody will ever resume it
    }
  }

  class Wait {
   public:
    explicit Wait(Turns& turns) : turns_(turns) {}
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <typename Caller>
    void await_suspend(std::coroutine_handle<Caller> caller) {
      turns_.add({caller, caller.promise().chain()});
    }
    void await_resume() const noexcept {}

   private:
    Turns& turns_;
  };

  [[nodiscard]] Wait next() { return Wait(*this); }

  /// From here on whoever holds the turns says when one is: run() by run(), until release().
  void hold() { is_held_ = true; }
  void release() {
    is_held_ = false;
    if (!waiting_.empty()) {
      post();
    }
  }
  void run() {
    running_.swap(waiting_);
    for (const Waiter& waiter : running_) {
      waiter.coroutine.resume();
    }
    running_.clear();
  }
  [[nodiscard]] bool empty() const { return waiting_.empty(); }

 private:
  struct Waiter {
    std::coroutine_handle<> coroutine;
    std::coroutine_handle<> chain;  // that it belongs to
  };

  void add(Waiter waiter) {
    if (waiting_.empty() && !is_held_) {
      post();
    }
    waiting_.push_back(waiter);
  }

  void post() {
    asio::post(io_.get_executor(), [this] { run(); });
  }

  asio::io_context& io_;
  std::vector<Waiter> waiting_;
  std::vector<Waiter> running_;
  bool is_held_ = false;
};

}  // namespace rolter::http
