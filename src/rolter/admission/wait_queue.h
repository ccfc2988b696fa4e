#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace rolter::admission {

/// Where the requests of one route wait while every target that could serve is at its cap. Bounded,
/// and fair by virtual key: keys take turns, and within a key who came first is first, so that one
/// key's burst delays its own requests and not everybody's.
///
/// Nobody polls: who gives a place back calls place_freed(), which wakes the head of the queue. The
/// head looks for a target itself and stays the head if somebody was faster. When it leaves, for
/// whatever reason, the next head is woken, so that no place is overlooked, however many come free
/// at once.
///
/// Any thread: one lock for some tens of nanoseconds. Kept across reloads with its route.
class WaitQueue : public std::enable_shared_from_this<WaitQueue> {
 public:
  /// Called under the queue's lock, on any thread: hands the news to the waiting request's own loop
  /// and does nothing else.
  using Wake = std::function<void()>;

 private:
  struct Line {  // of one key
    std::string key;
    std::list<Wake> waiting;
  };
  using Lines = std::list<Line>;

 public:
  /// One request's place in the queue, given up by destruction. Move-only.
  class Ticket {
   public:
    Ticket() = default;
    Ticket(Ticket&& other) noexcept { *this = std::move(other); }
    Ticket& operator=(Ticket&& other) noexcept;
    ~Ticket() { leave(); }

    [[nodiscard]] bool holds() const { return queue_ != nullptr; }

   private:
    friend class WaitQueue;
    void leave();

    std::shared_ptr<WaitQueue> queue_;
    Lines::iterator line_;
    std::list<Wake>::iterator at_;
  };

  explicit WaitQueue(std::size_t capacity) : capacity_(capacity) {}

  /// Joins the queue and wakes its head, which may be the caller: a place that came free before
  /// woke nobody. The ticket does not hold when `capacity` requests wait already.
  [[nodiscard]] Ticket join(std::string_view key, Wake wake);

  /// A place has come free, or may have.
  void place_freed();

  void set_capacity(std::size_t capacity);

  /// While any wait, a new request joins them instead of taking the place that the head has been
  /// woken for.
  [[nodiscard]] std::size_t waiting() const { return waiting_.load(std::memory_order_relaxed); }

 private:
  void wake_head();  // under the lock

  std::mutex mutex_;
  std::size_t capacity_;
  Lines lines_;  // of keys whose requests wait; the head is the first of the first
  std::atomic<std::size_t> waiting_{0};
};

}  // namespace rolter::admission
