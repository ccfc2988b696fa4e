#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>
#include <zmq.hpp>

#include "rolter/base/error.h"
#include "rolter/base/random.h"
#include "rolter/base/time.h"
#include "rolter/feeds/kv_socket.h"
#include "rolter/feeds/kv_source.h"
#include "rolter/feeds/kv_status.h"
#include "rolter/kvcache/block_index.h"
#include "rolter/kvcache/event_stream.h"
#include "rolter/kvcache/kv_event_decoder.h"

namespace rolter::feeds {

/// What all streams of the event thread use.
struct KvThreadTools {
  const Clock& clock;
  kvcache::BlockIndex& index;
  KvNotices tell;
  Rng rng;
  zmq::context_t context;
  kvcache::KvEventDecoder decoder;
  ReceivedMessage message;
};

/// Follows one source: dials, subscribes, asks for replays, and keeps the stream's blocks in the
/// index. Dials again with a growing pause, each time to an address that is allowed now. Lives on
/// the event thread, status() apart. In its destructor the index forgets the stream.
class KvStream final : private kvcache::EventStreamActions {
 public:
  /// An error when the index has no room for another stream.
  [[nodiscard]] static Result<std::unique_ptr<KvStream>> open(const KvSource& source,
                                                              KvThreadTools& tools);
  KvStream(KvSource source, kvcache::StreamId stream, KvThreadTools& tools);
  ~KvStream() override;
  KvStream(const KvStream&) = delete;
  KvStream& operator=(const KvStream&) = delete;

  [[nodiscard]] const KvSource& source() const { return source_; }
  /// The same stream under a new configuration, whose egress policy may differ.
  void update(KvSource source);

  /// As KvEventFeed has it.
  void expect_event(std::uint64_t new_tokens, TimePoint since, TimePoint now);
  /// As KvEventFeed has it.
  void restarted();

  /// Does what is due. To be called at next_step() at the latest; earlier it costs nothing.
  void step(TimePoint now);
  [[nodiscard]] TimePoint next_step() const { return next_step_; }

  /// The sockets to wait for, until the next step(); handle() finds them in the same vector.
  void append_to(std::vector<zmq::pollitem_t>& items);
  /// Reads some of what has come: one flood must not hold up the others.
  void handle(const std::vector<zmq::pollitem_t>& items, TimePoint now);

  /// Any thread.
  [[nodiscard]] KvStreamStatus status() const;

 private:
  bool apply(kvcache::Payload payload) override;
  void forget(Forget what) override;
  void ask_replay(std::uint64_t from) override;
  void state_changed(kvcache::StreamState state) override;

  void dial(TimePoint now);
  void check_link(TimePoint now);
  void on_connected(TimePoint now);
  /// `why` is for people; "" = they are told elsewhere.
  void lose(std::string why, TimePoint now);

  void read_live(TimePoint now);
  void take_live(TimePoint now);
  void read_replay(TimePoint now);
  [[nodiscard]] bool is_ours(kvcache::Frame topic);

  void finish_turn(TimePoint now);
  void refresh_usable();
  void tell(KvNotice::Kind kind, std::string_view text);
  void tell_problem(std::string problem);
  void tell_settled_state();

  KvSource source_;
  kvcache::StreamId stream_;
  KvThreadTools& tools_;
  kvcache::EventStream events_;

  std::unique_ptr<KvSubscription> subscription_;  // null: until dial_at_
  std::unique_ptr<KvReplayRequest> replay_;
  bool connected_ = false;
  bool replay_refused_ = false;  // could not be asked for; EventStream is told in the next step
  bool unread_ = false;          // more has come than one turn reads
  TimePoint dial_at_{};
  TimePoint since_{};  // of the dial, or of the connection
  TimePoint check_at_{};
  TimePoint next_step_{};
  Duration pause_{};
  std::size_t dials_ = 0;
  std::size_t first_item_ = 0;
  std::size_t items_ = 0;

  /// By topic, of what came live.
  enum class Heard : std::uint8_t { kNothing, kForeignOnly, kOurs };
  Heard heard_ = Heard::kNothing;
  double newest_timestamp_ = 0.0;
  TimePoint heard_at_{};  // ours, live

  kvcache::StreamState told_state_ = kvcache::StreamState::kConnecting;
  std::string told_problem_;  // since the stream was last well

  mutable std::mutex status_mutex_;  // for status_
  KvStreamStatus status_;
  KvStreamStatus counts_;  // the event thread's own
};

}  // namespace rolter::feeds
