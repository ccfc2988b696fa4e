#include "rolter/admission/wait_queue.h"

#include <algorithm>
#include <utility>

namespace rolter::admission {

WaitQueue::Ticket& WaitQueue::Ticket::operator=(Ticket&& other) noexcept {
  if (this != &other) {
    leave();
    queue_ = std::exchange(other.queue_, nullptr);
    line_ = other.line_;
    at_ = other.at_;
  }
  return *this;
}

void WaitQueue::Ticket::leave() {
  const auto queue = std::exchange(queue_, nullptr);
  if (!queue) {
    return;
  }
  Lines& lines = queue->lines_;
  const std::lock_guard lock(queue->mutex_);
  const bool is_head = line_ == lines.begin() && at_ == line_->waiting.begin();
  line_->waiting.erase(at_);
  queue->waiting_.fetch_sub(1, std::memory_order_relaxed);
  if (line_->waiting.empty()) {
    lines.erase(line_);
  } else if (is_head) {
    lines.splice(lines.end(), lines, line_);
  }
  if (is_head) {
    queue->wake_head();
  }
}

WaitQueue::Ticket WaitQueue::join(std::string_view key, Wake wake) {
  Ticket ticket;
  const std::lock_guard lock(mutex_);
  if (waiting_.load(std::memory_order_relaxed) >= capacity_) {
    return ticket;
  }
  waiting_.fetch_add(1, std::memory_order_relaxed);
  ticket.queue_ = shared_from_this();
  ticket.line_ = std::ranges::find(lines_, key, &Line::key);
  if (ticket.line_ == lines_.end()) {
    ticket.line_ = lines_.insert(lines_.end(), Line{std::string(key), {}});
  }
  std::list<Wake>& waiting = ticket.line_->waiting;
  ticket.at_ = waiting.insert(waiting.end(), std::move(wake));
  wake_head();
  return ticket;
}

void WaitQueue::place_freed() {
  const std::lock_guard lock(mutex_);
  wake_head();
}

void WaitQueue::set_capacity(std::size_t capacity) {
  const std::lock_guard lock(mutex_);
  capacity_ = capacity;
}

void WaitQueue::wake_head() {
  if (!lines_.empty()) {
    lines_.front().waiting.front()();
  }
}

}  // namespace rolter::admission
