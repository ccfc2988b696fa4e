#include "rolter/feeds/kv_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "rolter/kvcache/event_frames.h"

namespace rolter::feeds {
namespace {

using kvcache::EventStream;
using kvcache::StreamState;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kFirstPause = milliseconds{100};
constexpr Duration kLongestPause = seconds{2};
/// A connection that lasted so long was a good one: the next dial comes soon.
constexpr Duration kGoodConnection = seconds{5};
constexpr Duration kDialPatience = seconds{10};
/// How often a connected stream looks whether its name leads elsewhere by now.
constexpr Duration kAddressCheck = seconds{1};
/// Tokens that fill a block of any engine: hybrid models have some hundreds to a block.
constexpr std::uint64_t kLargeBlock = 4096;
constexpr int kMessagesPerTurn = 64;
constexpr std::size_t kMostTopicShown = 64;

kvcache::EventStreamOptions stream_options(const KvSource& source) {
  return {.can_replay = source.replay.has_value(), .stale = source.stale};
}

std::string_view as_text(kvcache::Frame frame) {
  return {reinterpret_cast<const char*>(frame.data()), frame.size()};
}

}  // namespace

Result<std::unique_ptr<KvStream>> KvStream::open(const KvSource& source, KvThreadTools& tools) {
  const auto stream = tools.index.add_stream({.replica = source.replica,
                                              .rank = source.rank,
                                              .max_blocks = source.max_blocks,
                                              .block_size = source.block_size});
  if (!stream) {
    return std::unexpected(stream.error());
  }
  return std::make_unique<KvStream>(source, *stream, tools);
}

KvStream::KvStream(KvSource source, kvcache::StreamId stream, KvThreadTools& tools)
    : source_(std::move(source)),
      stream_(stream),
      tools_(tools),
      events_(stream_options(source_), *this),
      pause_(kFirstPause) {
  counts_.provider = source_.provider;
  counts_.rank = source_.rank;
  status_ = counts_;
}

KvStream::~KvStream() {
  tools_.index.remove_stream(stream_);
}

void KvStream::update(KvSource source) {
  source_ = std::move(source);
  check_at_ = TimePoint{};
  next_step_ = TimePoint{};
}

void KvStream::expect_event(std::uint64_t new_tokens, TimePoint since, TimePoint now) {
  std::vector<kvcache::BlockIndex::StreamView> views;
  const kvcache::BlockIndex::ReplicaQuery query{.replica = source_.replica, .model = {}};
  tools_.index.streams_of({&query, 1}, views);
  const std::uint32_t learned = views.empty() ? 0 : views.front().block_size;
  const std::uint64_t block = learned != 0 ? learned : kLargeBlock;
  if (new_tokens >= block && heard_at_ < since) {
    events_.expect_event(now);
    next_step_ = TimePoint{};
  }
}

void KvStream::restarted() {
  if (!connected_) {
    tools_.index.forget(stream_, kvcache::BlockIndex::Forget::kBlocks);
  }
}

// ---- the connection ----

void KvStream::step(TimePoint now) {
  if (now < next_step_) {
    return;
  }
  if (std::exchange(replay_refused_, false)) {
    events_.replay_failed(now);
  }
  if (subscription_ && now >= check_at_) {
    check_link(now);
  } else if (!subscription_ && now >= dial_at_) {
    dial(now);
  }
  events_.tick(now);
  finish_turn(now);
}

void KvStream::dial(TimePoint now) {
  const auto address = address_to_dial(source_.events, dials_++);
  if (!address) {
    const bool unresolved = address.error().kind == ErrorKind::kNotFound;
    lose(unresolved ? "" : address.error().message, now);  // whoever resolves names tells
    return;
  }
  try {
    subscription_ = std::make_unique<KvSubscription>(tools_.context, *address);
    since_ = now;
    check_at_ = now + kAddressCheck;
  } catch (const zmq::error_t& error) {
    lose(fmt::format("cannot open a socket: {}", error.what()), now);
  }
}

void KvStream::check_link(TimePoint now) {
  check_at_ = now + kAddressCheck;
  const http::Endpoint& address = subscription_->address();
  if (!connected_ && now - since_ >= kDialPatience) {
    lose(fmt::format("no answer from {} ({})", to_string(source_.events),
                     address.address().to_string()),
         now);
  } else if (!still_leads_there(source_.events, address)) {
    lose(fmt::format("{} has another address now", source_.events.host), now);
  } else if (auto allowed = source_.events.egress(address); !allowed) {
    lose(std::move(allowed.error().message), now);
  }
}

void KvStream::on_connected(TimePoint now) {
  if (!connected_) {
    connected_ = true;
    since_ = now;
    events_.connected(now);
  }
}

void KvStream::lose(std::string why, TimePoint now) {
  if (connected_) {
    if (now - since_ >= kGoodConnection) {
      pause_ = kFirstPause;
    }
    connected_ = false;
    events_.disconnected(now);
  }
  subscription_.reset();
  unread_ = false;
  // Between a half and the whole, so that a fleet's gateways do not dial in step.
  const double part = 0.5 + 0.5 * uniform_unit(tools_.rng);
  dial_at_ = now + std::chrono::duration_cast<Duration>(pause_ * part);
  pause_ = std::min(2 * pause_, kLongestPause);
  if (!why.empty()) {
    tell_problem(std::move(why));
  }
}

// ---- what comes ----

void KvStream::append_to(std::vector<zmq::pollitem_t>& items) {
  first_item_ = items.size();
  const auto add = [&items](zmq::socket_t& socket) {
    items.push_back({.socket = socket.handle(), .fd = 0, .events = ZMQ_POLLIN, .revents = 0});
  };
  if (subscription_) {
    add(subscription_->monitor());
    add(subscription_->socket());
  }
  if (replay_) {
    add(replay_->socket());
  }
  items_ = items.size() - first_item_;
}

void KvStream::handle(const std::vector<zmq::pollitem_t>& items, TimePoint now) {
  const auto first = items.begin() + static_cast<std::ptrdiff_t>(first_item_);
  const bool something = std::any_of(first, first + static_cast<std::ptrdiff_t>(items_),
                                     [](const zmq::pollitem_t& item) { return item.revents != 0; });
  if (!something && !unread_) {
    return;
  }
  try {
    if (subscription_) {
      subscription_->watch_link();
      read_live(now);
    }
    read_replay(now);
  } catch (const zmq::error_t& error) {
    lose(fmt::format("cannot read from {}: {}", to_string(source_.events), error.what()), now);
  }
  finish_turn(now);
}

void KvStream::read_live(TimePoint now) {
  int read = 0;
  while (read < kMessagesPerTurn && subscription_->receive(tools_.message)) {
    on_connected(now);  // whatever the monitor has said by now
    take_live(now);
    ++read;
  }
  unread_ = read == kMessagesPerTurn;
  if (subscription_->link() == KvSubscription::Link::kUp) {
    on_connected(now);
  } else if (subscription_->link() == KvSubscription::Link::kLost && !unread_) {
    lose(connected_ ? fmt::format("lost the connection to {}", to_string(source_.events))
                    : fmt::format("cannot connect to {}: vLLM listens there only if its own "
                                  "endpoint is tcp://*:{}",
                                  to_string(source_.events), source_.events.port),
         now);
  }
}

void KvStream::take_live(TimePoint now) {
  const auto message = kvcache::parse_live_frames(tools_.message.frames());
  if (!message) {
    events_.malformed_frame();
    if (events_.counters().malformed_frames == 1) {
      tell_problem(fmt::format("{} sends something that is no KV events; it is left out",
                               to_string(source_.events)));
    }
    return;
  }
  if (!is_ours(message->topic)) {
    if (heard_ == Heard::kNothing) {
      heard_ = Heard::kForeignOnly;
      refresh_usable();
    }
    return;
  }
  heard_at_ = now;
  if (std::exchange(heard_, Heard::kOurs) == Heard::kForeignOnly) {
    refresh_usable();
  }
  const std::uint64_t applied = events_.counters().batches;
  events_.live(message->sequence, message->payload, now);
  if (!events_.is_replaying() && events_.counters().batches == applied + 1) {
    const std::chrono::duration<double> wall = tools_.clock.wall_now().time_since_epoch();
    counts_.lag_seconds = std::max(0.0, wall.count() - newest_timestamp_);
  }
}

/// Every topic is subscribed to: an engine whose topic is not the configured one would else be
/// silent for ever, without an error.
bool KvStream::is_ours(kvcache::Frame topic) {
  const std::string_view name = as_text(topic);
  if (name.starts_with(source_.topic)) {
    return true;
  }
  if (counts_.foreign_topics++ == 0) {
    tell_problem(
        fmt::format("events come under topic \"{}\" and topic = \"{}\" leaves them out; set "
                    "topic = \"\" to take all",
                    name.substr(0, kMostTopicShown), source_.topic));
  }
  return false;
}

void KvStream::read_replay(TimePoint now) {
  // Each of EventStream's calls may ask for another replay.
  for (int i = 0; i < kMessagesPerTurn && replay_ && replay_->receive(tools_.message); ++i) {
    const auto frames = tools_.message.frames();
    const auto answer = kvcache::parse_replay_frames(frames);
    const bool has_topic = frames.size() == 4;
    if (!answer) {
      events_.malformed_frame();
    } else if (answer->is_end) {
      replay_.reset();
      events_.replay_ended(now);
    } else if (!has_topic || is_ours(answer->message.topic)) {
      events_.replayed(answer->message.sequence, answer->message.payload, now);
    }
  }
}

// ---- what EventStream asks for ----

bool KvStream::apply(kvcache::Payload payload) {
  auto batch = tools_.index.begin(stream_);
  const auto summary = tools_.decoder.decode(payload, batch);
  if (!summary) {
    return false;
  }
  counts_.unknown_events += summary->unknown;
  counts_.malformed_events += summary->malformed;
  newest_timestamp_ = summary->timestamp;
  if (summary->cleared > 0 && !events_.is_replaying()) {
    tell(KvNotice::Kind::kCacheLost, "it has cleared its cache");
  }
  return true;
}

void KvStream::forget(Forget what) {
  tools_.index.forget(stream_, what == Forget::kBlocks
                                   ? kvcache::BlockIndex::Forget::kBlocks
                                   : kvcache::BlockIndex::Forget::kBlocksAndEngine);
  if (what == Forget::kBlocksAndEngine) {
    tell(KvNotice::Kind::kCacheLost, "it has restarted, as its KV events tell");
  }
}

void KvStream::ask_replay(std::uint64_t from) {
  replay_.reset();
  auto address = address_to_dial(*source_.replay, dials_);
  if (subscription_ && address) {
    // A name with several addresses: the process whose events these are.
    const http::Endpoint same(subscription_->address().address(), source_.replay->port);
    if (still_leads_there(*source_.replay, same) && source_.replay->egress(same)) {
      address = same;
    }
  }
  std::string why = address ? "" : address.error().message;
  if (address) {
    try {
      replay_ = std::make_unique<KvReplayRequest>(tools_.context, *address, from);
    } catch (const zmq::error_t& error) {
      why = error.what();
    }
  }
  if (!replay_) {
    replay_refused_ = true;
    tell_problem(fmt::format("cannot ask for a replay: {}", why));
  }
}

void KvStream::state_changed(StreamState /*state*/) {
  refresh_usable();
}

void KvStream::refresh_usable() {
  tools_.index.set_usable(stream_,
                          kvcache::is_usable(events_.state()) && heard_ != Heard::kForeignOnly);
}

// ---- what people see ----

void KvStream::finish_turn(TimePoint now) {
  if (!events_.is_replaying()) {
    replay_.reset();  // one that was given up may never end
  }
  tell_settled_state();

  next_step_ = subscription_ ? check_at_ : dial_at_;
  if (const auto tick = events_.next_tick()) {
    next_step_ = std::min(next_step_, *tick);
  }
  if (unread_ || replay_refused_) {
    next_step_ = now;
  }

  const auto index = tools_.index.stats(stream_);
  counts_.state = events_.state();
  counts_.connected = connected_;
  counts_.blocks = index.blocks;
  counts_.parked = index.parked;
  counts_.batches = events_.counters();
  counts_.block_counters = index.counters;
  const std::lock_guard lock(status_mutex_);
  status_ = counts_;
}

KvStreamStatus KvStream::status() const {
  const std::lock_guard lock(status_mutex_);
  return status_;
}

void KvStream::tell(KvNotice::Kind kind, std::string_view text) {
  tools_.tell({.kind = kind, .provider = source_.provider, .rank = source_.rank, .text = text});
}

void KvStream::tell_problem(std::string problem) {
  if (problem != told_problem_) {
    told_problem_ = std::move(problem);
    tell(KvNotice::Kind::kBad, told_problem_);
  }
}

/// Only of states that last; a replay ends in one of them.
void KvStream::tell_settled_state() {
  const StreamState state = events_.state();
  const bool well = connected_ && kvcache::is_usable(state) && heard_ != Heard::kForeignOnly;
  if (well && (state != told_state_ || !told_problem_.empty())) {
    told_problem_.clear();
    told_state_ = state;
    tell(KvNotice::Kind::kGood,
         state == StreamState::kLive ? "live" : "partial: current, but older blocks are unknown");
  } else if (state == StreamState::kStale && state != told_state_) {
    told_state_ = state;
    tell(KvNotice::Kind::kBad, "stale: its blocks count no more until events come again");
  }
}

}  // namespace rolter::feeds
