#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "rolter/base/ids.h"
#include "rolter/base/time.h"

namespace rolter::balance {

/// How many tokens a second a replica prefills, by what has been observed: the prompts' tokens over
/// the time they took, of which older ones count less and less.
class PrefillSpeed {
 public:
  /// So many tokens were computed in so many seconds. A sample that is out of all proportion to
  /// what is known counts only in part.
  void observe(double tokens, double seconds);

  /// Of one replica or of several.
  struct Sum {
    double tokens = 0.0;
    double seconds = 0.0;
    Sum& operator+=(const Sum& other) {
      tokens += other.tokens;
      seconds += other.seconds;
      return *this;
    }
    /// A guess while nothing is known.
    [[nodiscard]] double tokens_per_s() const;
  };

  [[nodiscard]] bool is_known() const { return sum_.seconds > 0.0; }
  [[nodiscard]] const Sum& sum() const { return sum_; }
  [[nodiscard]] double tokens_per_s() const { return sum_.tokens_per_s(); }

 private:
  Sum sum_;
  std::uint32_t samples_ = 0;
};

/// What every replica still has to prefill of the prompts that were sent to it from here, and how
/// fast it is at that: a first token shows that its prompt has been computed, and when.
///
/// Engines are taken to compute prompts in the order in which they were sent (vLLM's scheduler
/// does, by chunks). A prompt whose answer is not streamed never shows that it has been computed:
/// it counts as such when it should be done, or when one that was sent after it is.
///
/// Any thread; a call holds the lock for some 10 ns per replica. About 70 bytes per prompt in
/// flight.
class PrefillQueues {
 public:
  struct Prompt {
    ReplicaSlot replica{};
    double uncached_tokens = 0.0;  // as predicted
    double cached_tokens = 0.0;    // likewise
    std::size_t text_bytes = 0;
    bool streamed = true;
  };

  /// Names one prompt; kNone none. One that is gone is harmless.
  enum class Ticket : std::uint64_t { kNone = 0 };

  [[nodiscard]] Ticket add(const Prompt& prompt, TimePoint now);
  /// The first byte of its answer has come.
  void first_byte(Ticket ticket, TimePoint now);
  /// What was said at add(); nothing once it is gone.
  [[nodiscard]] std::optional<Prompt> find(Ticket ticket) const;
  /// The engine's own word on what it computed.
  void computed(Ticket ticket, double tokens);
  /// The answer has ended, or never began.
  void remove(Ticket ticket, TimePoint now);

  /// The replica is gone; another one may get its slot.
  void forget_speed(ReplicaSlot replica);

  struct State {
    double queue_s = 0.0;       // until all that was sent there has been prefilled
    double tokens_per_s = 0.0;  // > 0
  };
  /// Of these replicas; the spans have equal sizes. One of which nothing is known is as fast as the
  /// others; those whose speeds differ too little to be told from noise are equally fast.
  void states(std::span<const ReplicaSlot> replicas, TimePoint now, std::span<State> out);

 private:
  using Index = std::uint32_t;
  static constexpr Index kNone = 0xffff'ffff;

  struct Sent {
    Prompt prompt;
    std::uint32_t generation = 1;
    bool live = false;
    bool waiting = false;      // to be prefilled; then it is in its replica's list
    double took_s = 0.0;       // its prefill; 0 = not known
    double also_tokens = 0.0;  // of prompts computed in that time, beside its own
    Index before = kNone;
    Index after = kNone;  // of a free place: the next free one
  };

  /// Of one replica.
  struct Queue {
    Index first = kNone;
    Index last = kNone;
    double tokens = 0.0;      // uncached, of all that wait
    TimePoint first_since{};  // when the engine turned to the first of them
    PrefillSpeed speed;
    double group_speed = 0.0;  // of all replicas that are about as fast; 0 = not known
  };

  [[nodiscard]] const Sent* at(Ticket ticket) const;
  [[nodiscard]] Sent* at(Ticket ticket) {
    return const_cast<Sent*>(std::as_const(*this).at(ticket));
  }
  [[nodiscard]] Index take_place();
  [[nodiscard]] Queue& queue_of(ReplicaSlot replica);
  [[nodiscard]] double speed_of(const Queue& queue) const {
    return queue.group_speed > 0.0 ? queue.group_speed : common_speed_;
  }
  void group_speeds();
  void leave(Index place);
  /// Lets go of unstreamed prompts at the head that should be done by now.
  void advance(Queue& queue, TimePoint now);

  mutable std::mutex mutex_;
  std::vector<Sent> sent_;
  Index free_ = kNone;
  std::vector<Queue> queues_;  // by ReplicaSlot
  std::uint64_t observed_ = 0;
  double common_speed_ = PrefillSpeed::Sum{}.tokens_per_s();
};

}  // namespace rolter::balance
