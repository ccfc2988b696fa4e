#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "rolter/base/time.h"
#include "rolter/kvcache/event_backlog.h"

namespace rolter::kvcache {

/// What a stream's blocks are worth now.
enum class StreamState : std::uint8_t {
  kConnecting,  // nothing heard yet
  kCatchingUp,  // a replay is under way, or it is open whether the engine restarted
  kLive,        // every batch since the engine's first one has been applied
  kPartial,     // current, but blocks stored before the first batch we have are unknown
  kStale,       // the transport is gone or the engine silent for too long
};
[[nodiscard]] std::string_view to_string(StreamState state);
/// Only then do the stream's blocks earn its target any credit.
[[nodiscard]] constexpr bool is_usable(StreamState state) {
  return state == StreamState::kLive || state == StreamState::kPartial;
}

/// What a stream asks of its surroundings.
class EventStreamActions {
 public:
  enum class Forget : std::uint8_t {
    kBlocks,           // a hole in the history: what is known may have been evicted
    kBlocksAndEngine,  // another process: its block size and groups may differ too
  };

  virtual ~EventStreamActions() = default;
  /// Applies a batch to the index. False when its payload cannot be read.
  virtual bool apply(Payload payload) = 0;
  virtual void forget(Forget what) = 0;
  /// Asks for all batches from that number on; gives up any earlier request. Answers come through
  /// replayed() and replay_ended().
  virtual void ask_replay(std::uint64_t from) = 0;
  virtual void state_changed(StreamState state) = 0;
};

struct EventStreamOptions {
  bool can_replay = false;                         // there is a replay endpoint
  Duration stale = std::chrono::seconds(30);       // of lost transport or unanswered activity
  Duration patience = std::chrono::seconds(5);     // without an answer to a replay request
  Duration replay_rest = std::chrono::minutes(1);  // after replays have failed in a row
};

struct EventStreamCounters {
  std::uint64_t batches = 0;  // applied
  std::uint64_t duplicates = 0;
  std::uint64_t gaps = 0;      // batches missing in the live stream
  std::uint64_t holes = 0;     // batches that no replay could bring back
  std::uint64_t restarts = 0;  // of the engine
  std::uint64_t replays = 0;
  std::uint64_t failed_replays = 0;
  std::uint64_t malformed_frames = 0;
  std::uint64_t unreadable_batches = 0;
  std::uint64_t overflows = 0;  // live batches dropped during a replay
};

/// Follows one engine's numbered batches (one replica, one data-parallel rank) so that the index
/// holds nothing that the engine might have evicted unnoticed. What it survives, and how:
///
/// - late join: replay from 0; a ring that starts later leaves the state partial.
/// - gap, reconnect: replay from the last batch that was applied, that one included: if it comes
/// back
///   different or not at all, the engine has restarted (vLLM's batches carry no epoch, a restarted
///   engine has equal hashes, counts from 0 and may have passed our number unseen).
/// - restart within the live stream: a number that goes backwards without being a duplicate.
/// - a replay that is too short, truncated or unanswered: what is known is forgotten, and what
/// comes
///   is partial. Without a replay endpoint a gap leaves what is known, as partial.
/// - live batches during a replay wait and are merged by number.
/// - silence: means nothing. Stale is a transport that stays away, or activity of ours that must
/// have
///   caused an event and did not, for the configured time.
/// - a batch that cannot be read is asked for once more, then skipped.
///
/// Pure: time is an argument, effects are EventStreamActions. One thread.
class EventStream {
 public:
  EventStream(const EventStreamOptions& options, EventStreamActions& actions)
      : options_(options), actions_(actions) {}

  void connected(TimePoint now);
  void disconnected(TimePoint now);

  void live(std::uint64_t sequence, Payload payload, TimePoint now);
  void malformed_frame() { ++counters_.malformed_frames; }

  void replayed(std::uint64_t sequence, Payload payload, TimePoint now);
  void replay_ended(TimePoint now);
  void replay_failed(TimePoint now);

  /// A request of ours has been answered that must have stored at least one new block.
  void expect_event(TimePoint now);

  /// To be called at next_tick() at the latest.
  void tick(TimePoint now);
  [[nodiscard]] std::optional<TimePoint> next_tick() const;

  [[nodiscard]] StreamState state() const { return state_; }
  /// A replay is awaited: its answers still count.
  [[nodiscard]] bool is_replaying() const { return replay_.has_value(); }
  [[nodiscard]] const EventStreamCounters& counters() const { return counters_; }

 private:
  /// The batch that the next one must follow.
  struct Position {
    std::uint64_t sequence = 0;
    std::uint64_t fingerprint = 0;
  };

  struct Replay {
    std::uint64_t from = 0;
    bool from_known = false;  // `from` is the last applied batch, and must come back as it was
    bool answered = false;    // at least one batch has come
    bool broken = false;      // a batch is missing in the middle
    TimePoint give_up_at;
  };

  void follow(std::uint64_t sequence, Payload payload, TimePoint now);
  [[nodiscard]] std::uint64_t next_sequence() const { return last_ ? last_->sequence + 1 : 0; }
  bool apply(std::uint64_t sequence, Payload payload);
  void apply_over_gap(std::uint64_t sequence, Payload payload);
  void restart();
  void lose_history(EventStreamActions::Forget what);
  void wait(std::uint64_t sequence, Payload payload, TimePoint now);
  void drain_backlog(TimePoint now);

  [[nodiscard]] bool replay_allowed(TimePoint now) const;
  void start_replay(TimePoint now);
  void give_up_replay(TimePoint now);
  void take_first_replayed(std::uint64_t sequence, Payload payload, TimePoint now);
  void finish_replay(TimePoint now);

  [[nodiscard]] bool is_stale(TimePoint now) const;
  void update_state(TimePoint now);

  EventStreamOptions options_;
  EventStreamActions& actions_;
  StreamState state_ = StreamState::kConnecting;
  EventStreamCounters counters_;

  bool connected_ = false;
  std::optional<TimePoint> lost_at_;  // absent: connected, or never was
  std::optional<TimePoint> unanswered_since_;

  std::optional<Position> last_;  // absent: nothing applied since the start or since it was lost
  bool complete_ = true;          // nothing is missing before last_
  bool in_doubt_ = false;         // something may be missing after last_
  SeenBatches seen_;

  std::optional<Replay> replay_;
  std::uint32_t replays_without_progress_ = 0;
  std::optional<TimePoint> rest_until_;  // no replay before
  bool unreadable_retried_ = false;      // on this connection
  LiveBacklog backlog_;
};

}  // namespace rolter::kvcache
