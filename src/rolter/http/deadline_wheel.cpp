#include "rolter/http/deadline_wheel.h"

#include <utility>

namespace rolter::http {

Deadline::Deadline(DeadlineWheel& wheel, std::function<void()> on_expired)
    : wheel_(wheel), on_expired_(std::move(on_expired)) {}

void Deadline::arm(Duration after) {
  if (after <= Duration::zero()) {
    disarm();
    return;
  }
  const auto ticks = static_cast<std::uint64_t>((after + DeadlineWheel::kTick - Duration{1}) /
                                                DeadlineWheel::kTick);
  // One more, since the current tick has partly gone by.
  const std::uint64_t due = wheel_.tick_ + ticks + 1;
  if (armed_ && due == due_tick_) {
    return;
  }
  disarm();
  wheel_.link(*this, due);
}

void Deadline::disarm() {
  if (armed_) {
    wheel_.unlink(*this);
  }
}

void DeadlineWheel::link(Deadline& deadline, std::uint64_t due_tick) {
  Deadline*& head = slots_[due_tick % kSlots];
  deadline.due_tick_ = due_tick;
  deadline.previous_ = nullptr;
  deadline.next_ = head;
  if (head != nullptr) {
    head->previous_ = &deadline;
  }
  head = &deadline;
  deadline.armed_ = true;
  ++armed_;
}

void DeadlineWheel::unlink(Deadline& deadline) {
  if (deadline.previous_ != nullptr) {
    deadline.previous_->next_ = deadline.next_;
  } else {
    slots_[deadline.due_tick_ % kSlots] = deadline.next_;
  }
  if (deadline.next_ != nullptr) {
    deadline.next_->previous_ = deadline.previous_;
  }
  deadline.armed_ = false;
  --armed_;
}

void DeadlineWheel::advance(std::uint64_t ticks) {
  for (std::uint64_t i = 0; i < ticks; ++i) {
    ++tick_;
    expire_slot(tick_ % kSlots);
  }
}

void DeadlineWheel::expire_slot(std::size_t slot) {
  // A callback may change this very list, so look for the next due one from the head each time.
  // What is not due stays in the slot for another turn.
  bool found = true;
  while (found) {
    found = false;
    for (Deadline* deadline = slots_[slot]; deadline != nullptr; deadline = deadline->next_) {
      if (deadline->due_tick_ <= tick_) {
        unlink(*deadline);
        deadline->on_expired_();
        found = true;
        break;
      }
    }
  }
}

}  // namespace rolter::http
