// The choice of a target, and the wait for one.
#include <algorithm>
#include <utility>

#include "rolter/http/bell.h"
#include "rolter/proxy/forwarding.h"

namespace rolter::proxy {

std::expected<Forwarding::Try, Forwarding::NoTarget> Forwarding::choose() {
  if (route_.queue && route_.queue->waiting() > 0) {
    return std::unexpected(NoTarget::kAtCap);  // the next place is theirs
  }
  return choose_now();
}

std::expected<Forwarding::Try, Forwarding::NoTarget> Forwarding::choose_now() {
  const TimePoint now = loop_.loop.now();
  if (auto holder = choose_holder(now)) {
    return std::move(*holder);
  }
  if (holder_is_only_) {
    return std::unexpected(NoTarget::kAtCap);
  }
  auto passed_over = tried_;
  while (true) {
    const auto availability =
        cluster::eligible_targets(targets(), now, passed_over, loop_.candidates);
    if (availability == cluster::Availability::kAllDrained) {
      return std::unexpected(NoTarget::kDrained);
    }
    if (availability == cluster::Availability::kAllAtCap || loop_.candidates.empty()) {
      return std::unexpected(NoTarget::kAtCap);
    }
    const bool fail_open = availability == cluster::Availability::kFailOpen;
    if (fail_open && route_.fallback) {
      return std::unexpected(NoTarget::kRouteOut);
    }
    if (fail_open) {
      loop_.recorder.failed_open(state_, route_.index);
    }
    facts_.scores.clear();
    const bool scored = facts_.explains || loop_.wants_scores(now);
    facts_.decision =
        route_.strategy->pick(pick_input(), loop_.rng, scored ? &facts_.scores : nullptr);
    Try chosen;
    chosen.target = facts_.decision.target;
    chosen.by_strategy = true;
    chosen.attempt = cluster::Attempt::begin(
        targets().targets[chosen.target],
        fail_open ? cluster::Gate::kFailOpen : cluster::Gate::kRespected, now);
    if (chosen.attempt.holds()) {
      take(chosen);
      note_prompt_blocks();
      begin_shadows();
      return chosen;
    }
    // Another loop took its last place in between.
    if (passed_over.size() > targets().targets.size() + tried_.size()) {
      return std::unexpected(NoTarget::kAtCap);
    }
    passed_over.push_back(chosen.target);
  }
}

http::Task<std::expected<Forwarding::Try, Forwarding::NoTarget>>
Forwarding::choose_after_waiting() {
  http::Bell bell(loop_.loop);
  admission::WaitQueue::Ticket ticket;
  if (route_.queue) {
    ticket = route_.queue->join(facts_.key_name, bell.rope());
  }
  if (!ticket.holds()) {
    co_return std::unexpected(NoTarget::kQueueFull);
  }
  if (!waits_until_) {
    const Duration longest = state_.config.routes[route_.index].queue.timeout;
    waits_until_ = longest > Duration::zero() ? loop_.loop.now() + longest : TimePoint::max();
  }
  const Interrupt::Guard guard(interrupt_, [&bell] { bell.cancel(); });
  while (true) {
    co_await bell.wait(std::min(*waits_until_, next_return()));
    if (interrupt_.client_gone()) {
      co_return std::unexpected(NoTarget::kQueueTimedOut);  // nobody will hear of it
    }
    auto chosen = choose_now();
    if (chosen || chosen.error() == NoTarget::kDrained || chosen.error() == NoTarget::kRouteOut) {
      co_return chosen;
    }
    if (loop_.loop.now() >= *waits_until_) {
      co_return std::unexpected(NoTarget::kQueueTimedOut);
    }
  }
}

void Forwarding::take(const Try& chosen) {
  tried_.push_back(chosen.target);
  facts_.target = chosen.target;
  facts_.target_label = targets().targets[chosen.target].label;
}

/// The one that may answer alone is asked whatever its state; another only at its best.
std::optional<Forwarding::Try> Forwarding::choose_holder(TimePoint now) {
  if (!holder_ || (!holder_is_only_ && !tried_.empty())) {
    return std::nullopt;
  }
  const cluster::RouteTarget& target = targets().targets[*holder_];
  const bool eligible = target.replica->eligible(now) && !target.replica->drained();
  if (!holder_is_only_ && !eligible) {
    return std::nullopt;
  }
  Try chosen;
  chosen.target = *holder_;
  chosen.attempt = cluster::Attempt::begin(
      target, holder_is_only_ ? cluster::Gate::kFailOpen : cluster::Gate::kRespected, now);
  if (!chosen.attempt.holds()) {
    return std::nullopt;
  }
  facts_.decision = {.target = chosen.target, .reason = balance::Reason::kSession};
  take(chosen);
  return chosen;
}

/// The end of a cooldown is the one return of a target that nobody announces.
TimePoint Forwarding::next_return() const {
  const TimePoint now = loop_.loop.now();
  TimePoint next = TimePoint::max();
  for (const cluster::RouteTarget& target : targets().targets) {
    const Duration cooling = target.replica->status(now).cooling_left;
    if (cooling > Duration::zero()) {
      next = std::min(next, now + cooling);
    }
  }
  return next;
}

OwnError Forwarding::no_target(NoTarget why) {
  switch (why) {
    case NoTarget::kDrained:
      route_is_out_ = true;
      return all_drained(route_.model);
    case NoTarget::kRouteOut:
      route_is_out_ = true;
      return route_out(route_.model);
    case NoTarget::kQueueTimedOut:
      loop_.recorder.queue_refused(state_, route_.index, QueueRefusal::kTimedOut);
      return queue_timed_out(route_.model);
    case NoTarget::kAtCap:
    case NoTarget::kQueueFull:
      break;
  }
  loop_.recorder.queue_refused(state_, route_.index, QueueRefusal::kFull);
  return queue_full(route_.model);
}

}  // namespace rolter::proxy
