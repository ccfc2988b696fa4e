#pragma once

#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <boost/intrusive/list.hpp>
#include <coroutine>
#include <cstdint>

#include "rolter/http/asio.h"
#include "rolter/http/step_times.h"
#include "rolter/http/turns.h"

namespace rolter::http {

class WatchedSocket;

/// Which of a loop's sockets can be read or written, as far as the kernel has told: an epoll set of
/// its own, edge-triggered, that is looked at as one of the io_context's descriptors. A socket that
/// is known to be drained is not read in vain, and what a peer says to a pooled connection is known
/// without asking (docs/adr/0007). One thread; must outlive its sockets.
class Readiness {
 public:
  Readiness(asio::io_context& io, Turns& turns, StepTimes& times);
  /// Destroys what still waits: nobody will ever resume it.
  ~Readiness();
  Readiness(const Readiness&) = delete;
  Readiness& operator=(const Readiness&) = delete;

  /// To await until a socket can be read or written; false when it has been cancelled.
  class Wait : public boost::intrusive::list_base_hook<
                   boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
   public:
    Wait(WatchedSocket& socket, bool is_for_reading) : socket_(&socket), reads_(is_for_reading) {}
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;
    ~Wait();

    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <typename Caller>
    void await_suspend(std::coroutine_handle<Caller> caller) {
      coroutine_ = caller;
      chain_ = caller.promise().chain();
      begin();
    }
    [[nodiscard]] bool await_resume() const noexcept { return !cancelled_; }

   private:
    friend class Readiness;
    friend class WatchedSocket;
    void begin();

    WatchedSocket* socket_;  // null once it need not wait any more
    std::coroutine_handle<> coroutine_;
    std::coroutine_handle<> chain_;  // that it belongs to
    bool reads_;
    bool cancelled_ = false;
  };

 private:
  friend class WatchedSocket;
  using Waits = boost::intrusive::list<Wait, boost::intrusive::constant_time_size<false>>;

  void add(WatchedSocket& socket);
  /// The coroutine of `wait` will go on, in a later step.
  void let_go(Wait& wait);
  void run_later();
  void watch_set();
  void run();
  int take_events();
  void resume_ready();

  asio::io_context& io_;
  Turns& turns_;
  StepTimes& times_;
  asio::posix::basic_stream_descriptor<Executor> set_;
  Waits waiting_;
  Waits ready_;
  bool is_set_watched_ = false;
  bool is_running_ = false;
  bool is_run_posted_ = false;
};

/// A connected socket and what is known of its readiness. Owns the descriptor. The loop's thread.
class WatchedSocket {
 public:
  WatchedSocket(Readiness& in, Socket socket);
  ~WatchedSocket();
  WatchedSocket(const WatchedSocket&) = delete;
  WatchedSocket& operator=(const WatchedSocket&) = delete;

  /// -1 once closed.
  [[nodiscard]] int descriptor() const { return descriptor_; }

  /// False when a read would find nothing.
  [[nodiscard]] bool may_have_bytes() const { return may_have_bytes_; }
  /// A read has found nothing, or less than it had room for: what comes from here on is told by an
  /// event (epoll(7), "Questions and answers", 9). Not so an end that had been told already.
  void drained() { may_have_bytes_ = has_ended_; }
  /// Whether the loop is being told of what comes: else may_have_bytes() can be old.
  [[nodiscard]] bool is_up_to_date() const { return in_.is_set_watched_ || in_.is_running_; }

  /// After a read or write that the kernel would not take.
  [[nodiscard]] Readiness::Wait readable() {
    drained();
    return {*this, true};
  }
  [[nodiscard]] Readiness::Wait writable() { return {*this, false}; }

  /// Those who wait get false.
  void cancel();
  void close();

 private:
  friend class Readiness;
  friend class Readiness::Wait;

  void on_events(std::uint32_t events);
  static void wake(Readiness& in, Readiness::Wait*& waiter);

  Readiness& in_;
  int descriptor_;
  Readiness::Wait* reader_ = nullptr;
  Readiness::Wait* writer_ = nullptr;
  bool may_have_bytes_ = true;
  bool has_ended_ = false;  // the peer has ended or reset its side
};

}  // namespace rolter::http
