#include "rolter/cluster/attempt.h"

#include <optional>
#include <utility>

namespace rolter::cluster {

Attempt Attempt::begin(const RouteTarget& target, Gate gate, TimePoint now) {
  Attempt attempt;
  Lease lease = Lease::acquire(*target.replica, target.load->in_flight, target.cap);
  if (!lease.holds()) {
    return attempt;
  }
  if (gate == Gate::kRespected) {
    const std::optional<TrialSlot> slot = target.replica->claim_trial(now);
    if (!slot) {
      return attempt;
    }
    attempt.slot_ = *slot;
  }
  attempt.lease_ = std::move(lease);
  attempt.replica_ = target.replica.get();
  attempt.sent_at_ = now;
  return attempt;
}

Attempt::Attempt(Attempt&& other) noexcept
    : lease_(std::move(other.lease_)),
      replica_(std::exchange(other.replica_, nullptr)),
      slot_(std::exchange(other.slot_, TrialSlot::kNone)),
      sent_at_(other.sent_at_) {}

Attempt& Attempt::operator=(Attempt&& other) noexcept {
  if (this != &other) {
    abandon();
    lease_ = std::move(other.lease_);
    replica_ = std::exchange(other.replica_, nullptr);
    slot_ = std::exchange(other.slot_, TrialSlot::kNone);
    sent_at_ = other.sent_at_;
  }
  return *this;
}

Attempt::~Attempt() {
  abandon();
}

Transition Attempt::finish(const Report& report, TimePoint now) {
  if (replica_ == nullptr) {
    return {};
  }
  // Before the load goes down: whoever sees it idle must also see why it may not be picked.
  const Transition changed =
      std::exchange(replica_, nullptr)
          ->attempt_ended(report, std::exchange(slot_, TrialSlot::kNone), sent_at_, now);
  lease_.release();
  return changed;
}

void Attempt::abandon() {
  finish(Report{}, sent_at_);
}

}  // namespace rolter::cluster
