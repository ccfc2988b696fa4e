#include "rolter/kvcache/event_stream.h"

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace rolter::kvcache {
namespace {

constexpr std::uint32_t kMaxReplaysWithoutProgress = 3;

// A batch holds the time of its publication, so two that differ in anything differ in this.
std::uint64_t fingerprint_of(Payload payload) {
  return XXH3_64bits(payload.data(), payload.size());
}

}  // namespace

std::string_view to_string(StreamState state) {
  switch (state) {
    case StreamState::kConnecting:
      return "connecting";
    case StreamState::kCatchingUp:
      return "catching_up";
    case StreamState::kLive:
      return "live";
    case StreamState::kPartial:
      return "partial";
    case StreamState::kStale:
      return "stale";
  }
  return "stale";
}

void EventStream::connected(TimePoint now) {
  connected_ = true;
  lost_at_.reset();
  unreadable_retried_ = false;
  if (replay_allowed(now)) {
    start_replay(now);
  } else {
    in_doubt_ = last_.has_value();  // until the next batch's number tells
  }
  update_state(now);
}

void EventStream::disconnected(TimePoint now) {
  if (connected_) {
    connected_ = false;
    lost_at_ = now;
  }
  unanswered_since_.reset();
  replay_.reset();
  replays_without_progress_ = 0;
  backlog_.clear();
  update_state(now);
}

void EventStream::live(std::uint64_t sequence, Payload payload, TimePoint now) {
  unanswered_since_.reset();
  if (replay_) {
    wait(sequence, payload, now);
  } else {
    follow(sequence, payload, now);
  }
  update_state(now);
}

void EventStream::follow(std::uint64_t sequence, Payload payload, TimePoint now) {
  if (sequence > next_sequence()) {
    counters_.gaps += last_ ? 1 : 0;
    if (replay_allowed(now)) {
      start_replay(now);
      wait(sequence, payload, now);
    } else {
      apply_over_gap(sequence, payload);
    }
    return;
  }
  if (sequence < next_sequence()) {
    if (seen_.ask(sequence, fingerprint_of(payload)) == SeenBatches::Answer::kSame) {
      ++counters_.duplicates;
      return;
    }
    restart();
    follow(sequence, payload, now);  // once: the next number is 0 now
    return;
  }
  const auto before = std::pair(last_, complete_);
  if (!apply(sequence, payload) && replay_allowed(now) && !unreadable_retried_) {
    unreadable_retried_ = true;
    std::tie(last_, complete_) = before;
    start_replay(now);
  }
}

bool EventStream::apply(std::uint64_t sequence, Payload payload) {
  const bool readable = actions_.apply(payload);
  ++(readable ? counters_.batches : counters_.unreadable_batches);
  complete_ = complete_ && readable;
  last_ = {.sequence = sequence, .fingerprint = fingerprint_of(payload)};
  seen_.add(sequence, last_->fingerprint);
  in_doubt_ = false;
  return readable;
}

/// The batches between cannot be had. Where replays exist but fail, all that is known goes, so that
/// no credit is given for what may have been evicted; without a replay endpoint it stays, since
/// engines do not announce cached blocks again and one lost batch would cost the whole stream.
void EventStream::apply_over_gap(std::uint64_t sequence, Payload payload) {
  if (last_ && options_.can_replay) {
    lose_history(EventStreamActions::Forget::kBlocks);
  }
  complete_ = false;
  apply(sequence, payload);
}

void EventStream::restart() {
  ++counters_.restarts;
  actions_.forget(EventStreamActions::Forget::kBlocksAndEngine);
  last_.reset();
  seen_.clear();
  complete_ = true;
  in_doubt_ = false;
}

void EventStream::lose_history(EventStreamActions::Forget what) {
  ++counters_.holes;
  actions_.forget(what);
  last_.reset();
  complete_ = false;
}

void EventStream::wait(std::uint64_t sequence, Payload payload, TimePoint now) {
  const std::uint64_t newest = backlog_.empty() ? next_sequence() : backlog_.back().sequence + 1;
  if (sequence < newest) {
    if (backlog_.contains(sequence, payload) ||
        seen_.ask(sequence, fingerprint_of(payload)) == SeenBatches::Answer::kSame) {
      ++counters_.duplicates;
      return;
    }
    replay_.reset();
    replays_without_progress_ = 0;
    backlog_.clear();
    restart();
    follow(sequence, payload, now);
    return;
  }
  if (!backlog_.push(sequence, payload)) {
    ++counters_.overflows;
  }
}

void EventStream::drain_backlog(TimePoint now) {
  while (!backlog_.empty()) {
    const LiveBacklog::Batch& batch = backlog_.front();
    if (batch.sequence > next_sequence()) {
      counters_.gaps += last_ ? 1 : 0;
      if (last_ && replay_allowed(now)) {
        start_replay(now);
        if (replay_) {
          return;
        }
      }
      apply_over_gap(batch.sequence, batch.payload);
    } else if (batch.sequence == next_sequence()) {
      apply(batch.sequence, batch.payload);
    } else if (seen_.ask(batch.sequence, fingerprint_of(batch.payload)) ==
               SeenBatches::Answer::kDifferent) {
      restart();
      continue;
    } else {
      ++counters_.duplicates;
    }
    backlog_.pop();
  }
  replays_without_progress_ = 0;
}

bool EventStream::replay_allowed(TimePoint now) const {
  return options_.can_replay && connected_ && (!rest_until_ || now >= *rest_until_);
}

void EventStream::start_replay(TimePoint now) {
  in_doubt_ = true;
  if (replays_without_progress_ >= kMaxReplaysWithoutProgress) {
    give_up_replay(now);
    return;
  }
  ++replays_without_progress_;
  ++counters_.replays;
  replay_ = Replay{.from = last_ ? last_->sequence : 0,
                   .from_known = last_.has_value(),
                   .give_up_at = now + options_.patience};
  actions_.ask_replay(replay_->from);
}

/// Three replays in a row brought nothing: goes on without them for a while.
void EventStream::give_up_replay(TimePoint now) {
  replay_.reset();
  rest_until_ = now + options_.replay_rest;
  replays_without_progress_ = 0;
  if (last_) {
    lose_history(EventStreamActions::Forget::kBlocks);
  }
  complete_ = false;
  in_doubt_ = false;
}

void EventStream::replayed(std::uint64_t sequence, Payload payload, TimePoint now) {
  if (!replay_) {
    return;
  }
  replay_->give_up_at = now + options_.patience;
  if (!replay_->answered) {
    take_first_replayed(sequence, payload, now);
  } else if (sequence == next_sequence() && !replay_->broken) {
    replays_without_progress_ = 0;
    apply(sequence, payload);
    in_doubt_ = true;  // until the end
  } else if (sequence > next_sequence()) {
    replay_->broken = true;
  }
  update_state(now);
}

void EventStream::take_first_replayed(std::uint64_t sequence, Payload payload, TimePoint now) {
  if (replay_->from_known && sequence < replay_->from) {
    return;  // not what was asked for; wait for it
  }
  replay_->answered = true;
  if (replay_->from_known && sequence == replay_->from) {
    if (fingerprint_of(payload) != last_->fingerprint) {
      replays_without_progress_ = 0;
      restart();
      start_replay(now);
    }
    return;
  }
  if (replay_->from_known) {
    // The ring begins after our last batch, in this process or in another one.
    lose_history(EventStreamActions::Forget::kBlocksAndEngine);
  } else {
    complete_ = sequence == 0;
  }
  replays_without_progress_ = 0;
  apply(sequence, payload);
  in_doubt_ = true;
}

void EventStream::replay_ended(TimePoint now) {
  if (!replay_) {
    return;
  }
  if (replay_->broken) {
    start_replay(now);
    if (!replay_) {
      drain_backlog(now);
    }
  } else if (!replay_->answered && replay_->from_known) {
    // The newest batch of the engine is older than our last one: it is another process.
    replays_without_progress_ = 0;
    restart();
    start_replay(now);
  } else {
    finish_replay(now);
  }
  update_state(now);
}

void EventStream::finish_replay(TimePoint now) {
  replay_.reset();
  in_doubt_ = false;
  unanswered_since_.reset();
  drain_backlog(now);
}

void EventStream::replay_failed(TimePoint now) {
  if (!replay_) {
    return;
  }
  ++counters_.failed_replays;
  start_replay(now);
  if (!replay_) {
    drain_backlog(now);
  }
  update_state(now);
}

void EventStream::expect_event(TimePoint now) {
  if (connected_ && !unanswered_since_) {
    unanswered_since_ = now;
  }
}

void EventStream::tick(TimePoint now) {
  if (rest_until_ && now >= *rest_until_) {
    rest_until_.reset();
  }
  if (replay_ && now >= replay_->give_up_at) {
    replay_failed(now);
  }
  if (!replay_ && connected_ && is_stale(now) && replay_allowed(now)) {
    start_replay(now);  // does it answer, and is there nothing new?
  }
  update_state(now);
}

std::optional<TimePoint> EventStream::next_tick() const {
  std::optional<TimePoint> next;
  const auto at = [&next](TimePoint when) { next = next ? std::min(*next, when) : when; };
  if (replay_) {
    at(replay_->give_up_at);
  }
  if (lost_at_ && state_ != StreamState::kStale) {
    at(*lost_at_ + options_.stale);
  }
  if (unanswered_since_ && state_ != StreamState::kStale) {
    at(*unanswered_since_ + options_.stale);
  }
  if (connected_ && state_ == StreamState::kStale && rest_until_) {
    at(*rest_until_);
  }
  return next;
}

bool EventStream::is_stale(TimePoint now) const {
  return (lost_at_ && now - *lost_at_ >= options_.stale) ||
         (unanswered_since_ && now - *unanswered_since_ >= options_.stale);
}

void EventStream::update_state(TimePoint now) {
  StreamState next = complete_ ? StreamState::kLive : StreamState::kPartial;
  if (is_stale(now)) {
    next = StreamState::kStale;
  } else if (replay_ || in_doubt_) {
    next = StreamState::kCatchingUp;
  } else if (!last_ && (!connected_ || !options_.can_replay)) {
    next = StreamState::kConnecting;
  }
  if (next != state_) {
    state_ = next;
    actions_.state_changed(next);
  }
}

}  // namespace rolter::kvcache
