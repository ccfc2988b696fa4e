#include "rolter/balance/prefill_queues.h"

#include <algorithm>
#include <chrono>

namespace rolter::balance {
namespace {

/// Of everything observed before, per sample: some 60 prompts are remembered.
constexpr double kKeptOfSpeed = 1.0 - 1.0 / 64.0;
/// After so many samples, one that took more than kOutlier times as long as expected, or less than
/// that part of it, counts as that: a stalled network says nothing of the engine.
constexpr std::uint32_t kTrusted = 8;
constexpr double kOutlier = 4.0;
constexpr double kSlowest = 1.0;
constexpr double kFastest = 1e7;
/// A guess for the first prompts, of no consequence while all replicas share it.
constexpr double kNeutral = 8'000.0;
/// Speeds closer than this are one: of an idle fleet the replica that happens to look a little
/// faster would get everything otherwise.
constexpr double kNoise = 0.2;
/// Replicas are sorted into such groups anew after each sample at first, then after so many.
constexpr std::uint64_t kFirstSamples = 64;
constexpr std::uint64_t kSamplesPerGrouping = 16;

double to_seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

void PrefillSpeed::observe(double tokens, double seconds) {
  if (tokens <= 0.0 || seconds <= 0.0) {
    return;
  }
  if (samples_ >= kTrusted) {
    const double expected = tokens / tokens_per_s();
    seconds = std::clamp(seconds, expected / kOutlier, expected * kOutlier);
  } else {
    ++samples_;
  }
  sum_.tokens = sum_.tokens * kKeptOfSpeed + tokens;
  sum_.seconds = sum_.seconds * kKeptOfSpeed + seconds;
}

double PrefillSpeed::Sum::tokens_per_s() const {
  return seconds > 0.0 ? std::clamp(tokens / seconds, kSlowest, kFastest) : kNeutral;
}

PrefillQueues::Ticket PrefillQueues::add(const Prompt& prompt, TimePoint now) {
  const std::lock_guard lock(mutex_);
  Queue& queue = queue_of(prompt.replica);
  advance(queue, now);
  const Index place = take_place();
  Sent& sent = sent_[place];
  sent.prompt = prompt;
  sent.live = true;
  sent.waiting = true;
  sent.took_s = 0.0;
  sent.also_tokens = 0.0;
  sent.before = queue.last;
  sent.after = kNone;
  if (queue.last == kNone) {
    queue.first = place;
    queue.first_since = now;
    queue.tokens = 0.0;
  } else {
    sent_[queue.last].after = place;
  }
  queue.last = place;
  queue.tokens += prompt.uncached_tokens;
  return Ticket{(std::uint64_t{sent.generation} << 32) | place};
}

void PrefillQueues::first_byte(Ticket ticket, TimePoint now) {
  const std::lock_guard lock(mutex_);
  Sent* const sent = at(ticket);
  if (sent == nullptr || !sent->waiting || !sent->prompt.streamed) {
    return;
  }
  Queue& queue = queue_of(sent->prompt.replica);
  advance(queue, now);
  const auto place = static_cast<Index>(sent - sent_.data());
  for (Index i = sent->before; i != kNone;) {
    const Index before = sent_[i].before;
    if (!sent_[i].prompt.streamed) {
      sent->also_tokens += sent_[i].prompt.uncached_tokens;
      leave(i);
    }
    i = before;
  }
  // Of several at once, which one scheduler step has computed, the later ones take no time.
  sent->took_s = std::max(to_seconds(now - queue.first_since), 1e-6);
  leave(place);
  queue.first_since = now;
}

std::optional<PrefillQueues::Prompt> PrefillQueues::find(Ticket ticket) const {
  const std::lock_guard lock(mutex_);
  const Sent* const sent = at(ticket);
  return sent == nullptr ? std::nullopt : std::optional(sent->prompt);
}

void PrefillQueues::computed(Ticket ticket, double tokens) {
  const std::lock_guard lock(mutex_);
  if (Sent* const sent = at(ticket); sent != nullptr && !sent->waiting) {
    sent->prompt.uncached_tokens = tokens;
  }
}

void PrefillQueues::remove(Ticket ticket, TimePoint now) {
  const std::lock_guard lock(mutex_);
  Sent* const sent = at(ticket);
  if (sent == nullptr) {
    return;
  }
  const auto place = static_cast<Index>(sent - sent_.data());
  Queue& queue = queue_of(sent->prompt.replica);
  if (sent->waiting) {
    const bool was_first = queue.first == place;
    leave(place);
    if (was_first) {
      queue.first_since = std::max(queue.first_since, now);
    }
  } else if (sent->took_s > 0.0) {
    queue.speed.observe(sent->prompt.uncached_tokens + sent->also_tokens, sent->took_s);
    if (++observed_ < kFirstSamples || observed_ % kSamplesPerGrouping == 0) {
      group_speeds();
    }
  }
  sent->live = false;
  ++sent->generation;
  sent->after = free_;
  free_ = place;
}

void PrefillQueues::forget_speed(ReplicaSlot replica) {
  const std::lock_guard lock(mutex_);
  Queue& queue = queue_of(replica);
  queue.speed = {};
  queue.group_speed = 0.0;
}

void PrefillQueues::states(std::span<const ReplicaSlot> replicas, TimePoint now,
                           std::span<State> out) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    out[i] = {.queue_s = 0.0, .tokens_per_s = common_speed_};
    if (to_index(replicas[i]) >= queues_.size()) {
      continue;
    }
    Queue& queue = queues_[to_index(replicas[i])];
    advance(queue, now);
    out[i].tokens_per_s = speed_of(queue);
    if (queue.first != kNone) {
      const double done = std::min(to_seconds(now - queue.first_since) * out[i].tokens_per_s,
                                   sent_[queue.first].prompt.uncached_tokens);
      out[i].queue_s = std::max(queue.tokens - std::max(done, 0.0), 0.0) / out[i].tokens_per_s;
    }
  }
}

const PrefillQueues::Sent* PrefillQueues::at(Ticket ticket) const {
  const auto place = static_cast<Index>(ticket);
  const auto generation = static_cast<std::uint32_t>(static_cast<std::uint64_t>(ticket) >> 32);
  if (ticket == Ticket::kNone || place >= sent_.size()) {
    return nullptr;
  }
  const Sent& sent = sent_[place];
  return sent.live && sent.generation == generation ? &sent : nullptr;
}

PrefillQueues::Index PrefillQueues::take_place() {
  if (free_ == kNone) {
    sent_.emplace_back();
    return static_cast<Index>(sent_.size() - 1);
  }
  const Index place = free_;
  free_ = sent_[place].after;
  return place;
}

PrefillQueues::Queue& PrefillQueues::queue_of(ReplicaSlot replica) {
  if (to_index(replica) >= queues_.size()) {
    queues_.resize(to_index(replica) + 1);
  }
  return queues_[to_index(replica)];
}

void PrefillQueues::group_speeds() {
  std::vector<Queue*> known;
  PrefillSpeed::Sum all;
  for (Queue& queue : queues_) {
    if (queue.speed.is_known()) {
      known.push_back(&queue);
      all += queue.speed.sum();
    }
  }
  std::ranges::sort(known, {}, [](const Queue* queue) { return queue->speed.tokens_per_s(); });
  for (auto first = known.begin(); first != known.end();) {
    const double fastest = (*first)->speed.tokens_per_s() * (1.0 + kNoise);
    const auto last = std::find_if(first, known.end(), [&](const Queue* queue) {
      return queue->speed.tokens_per_s() > fastest;
    });
    PrefillSpeed::Sum group;
    std::for_each(first, last, [&](const Queue* queue) { group += queue->speed.sum(); });
    std::for_each(first, last, [&](Queue* queue) { queue->group_speed = group.tokens_per_s(); });
    first = last;
  }
  common_speed_ = all.tokens_per_s();
}

void PrefillQueues::leave(Index place) {
  Sent& sent = sent_[place];
  Queue& queue = queue_of(sent.prompt.replica);
  (sent.before == kNone ? queue.first : sent_[sent.before].after) = sent.after;
  (sent.after == kNone ? queue.last : sent_[sent.after].before) = sent.before;
  queue.tokens -= sent.prompt.uncached_tokens;
  sent.waiting = false;
}

void PrefillQueues::advance(Queue& queue, TimePoint now) {
  while (queue.first != kNone && !sent_[queue.first].prompt.streamed) {
    const double needs = sent_[queue.first].prompt.uncached_tokens / speed_of(queue);
    const TimePoint done =
        queue.first_since + std::chrono::duration_cast<Duration>(
                                std::chrono::duration<double>(std::min(needs, 3600.0)));
    if (done > now) {
      return;
    }
    leave(queue.first);
    queue.first_since = done;
  }
}

}  // namespace rolter::balance
