#include "rolter/feeds/kv_events.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>
#include <zmq.hpp>

#include "rolter/feeds/kv_stream.h"

namespace rolter::feeds {
namespace {

constexpr Duration kLongestWait = std::chrono::seconds{60};
/// Three or four per stream: events, the two ends of its monitor, a replay.
constexpr int kMostSockets = 4 * static_cast<int>(kvcache::BlockIndex::kMaxStreams) + 64;

/// Interrupts the poll from another thread.
class WakeUp {
 public:
  WakeUp() : descriptor_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (descriptor_ < 0) {
      throw std::system_error(errno, std::generic_category(), "eventfd");
    }
  }
  ~WakeUp() { ::close(descriptor_); }
  WakeUp(const WakeUp&) = delete;
  WakeUp& operator=(const WakeUp&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }
  /// Any thread. A full counter wakes as well.
  void notify() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(descriptor_, &one, sizeof one);
  }
  void take() {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto taken = ::read(descriptor_, &count, sizeof count);
  }

 private:
  int descriptor_;
};

}  // namespace

struct KvEventFeed::Impl {
  struct Expectation {
    ReplicaSlot replica{};
    std::uint64_t new_tokens = 0;
    TimePoint since;
  };
  /// What other threads want of the event thread.
  struct Orders {
    std::vector<Expectation> expected;  // at most one per replica
    std::vector<ReplicaSlot> restarted;
    std::optional<std::vector<KvSource>> sources;
    std::vector<std::function<void()>> in_force;
    bool stop = false;
  };

  Impl(kvcache::BlockIndex& index, const Clock& clock, Rng seeded, KvNotices tell)
      : tools{.clock = clock,
              .index = index,
              .tell = std::move(tell),
              .rng = seeded,
              .context = {},
              .decoder = {},
              .message = {}} {
    tools.context.set(zmq::ctxopt::max_sockets, kMostSockets);
  }

  /// False: stop.
  bool take_orders();
  void follow(std::vector<KvSource> sources);
  void expect(const Expectation& event);
  void step_all(TimePoint now);
  void wait();

  KvThreadTools tools;
  WakeUp wake_up;
  std::vector<zmq::pollitem_t> items;
  TimePoint next_step;

  std::mutex orders_mutex;
  Orders orders;
  bool ended = false;  // run() is over

  mutable std::mutex streams_mutex;  // for changes of `streams`, and its readers elsewhere
  std::vector<std::unique_ptr<KvStream>> streams;
};

KvEventFeed::KvEventFeed(kvcache::BlockIndex& index, const Clock& clock, Rng seeded, KvNotices tell)
    : impl_(std::make_unique<Impl>(index, clock, seeded, std::move(tell))) {}
KvEventFeed::~KvEventFeed() = default;

void KvEventFeed::stop() {
  {
    const std::lock_guard lock(impl_->orders_mutex);
    impl_->orders.stop = true;
  }
  impl_->wake_up.notify();
}

void KvEventFeed::watch(std::vector<KvSource> sources, std::function<void()> in_force) {
  {
    const std::lock_guard lock(impl_->orders_mutex);
    if (!impl_->ended) {
      impl_->orders.sources = std::move(sources);
      if (in_force) {
        impl_->orders.in_force.push_back(std::exchange(in_force, nullptr));
      }
    }
  }
  impl_->wake_up.notify();
  if (in_force) {
    in_force();
  }
}

void KvEventFeed::expect_event(ReplicaSlot replica, std::uint64_t new_tokens, TimePoint since) {
  const std::lock_guard lock(impl_->orders_mutex);
  auto& expected = impl_->orders.expected;
  const auto known = std::ranges::find(expected, replica, &Impl::Expectation::replica);
  if (known == expected.end()) {
    expected.push_back({.replica = replica, .new_tokens = new_tokens, .since = since});
  } else if (known->since < since) {
    *known = {.replica = replica, .new_tokens = new_tokens, .since = since};
  }
}

void KvEventFeed::restarted(ReplicaSlot replica) {
  {
    const std::lock_guard lock(impl_->orders_mutex);
    if (!impl_->ended) {
      impl_->orders.restarted.push_back(replica);
    }
  }
  impl_->wake_up.notify();
}

std::vector<KvStreamStatus> KvEventFeed::status() const {
  const std::lock_guard lock(impl_->streams_mutex);
  std::vector<KvStreamStatus> all;
  all.reserve(impl_->streams.size());
  for (const auto& stream : impl_->streams) {
    all.push_back(stream->status());
  }
  return all;
}

void KvEventFeed::run() {
  while (impl_->take_orders()) {
    impl_->step_all(impl_->tools.clock.now());
    impl_->wait();
    const TimePoint now = impl_->tools.clock.now();
    for (const auto& stream : impl_->streams) {
      stream->handle(impl_->items, now);
    }
  }
}

bool KvEventFeed::Impl::take_orders() {
  Orders taken;
  {
    const std::lock_guard lock(orders_mutex);
    taken = std::exchange(orders, {});
    ended = taken.stop;
  }
  if (taken.stop) {
    follow({});
  } else if (taken.sources) {
    follow(std::move(*taken.sources));
  }
  for (const auto& in_force : taken.in_force) {
    in_force();
  }
  for (const Expectation& event : taken.expected) {
    expect(event);
  }
  for (const auto& stream : streams) {
    if (std::ranges::find(taken.restarted, stream->source().replica) != taken.restarted.end()) {
      stream->restarted();
    }
  }
  return !taken.stop;
}

void KvEventFeed::Impl::expect(const Expectation& event) {
  KvStream* only = nullptr;
  for (const auto& stream : streams) {
    if (stream->source().replica == event.replica) {
      if (only != nullptr) {
        return;
      }
      only = stream.get();
    }
  }
  if (only != nullptr) {
    only->expect_event(event.new_tokens, event.since, tools.clock.now());
  }
}

void KvEventFeed::Impl::follow(std::vector<KvSource> sources) {
  std::vector<std::unique_ptr<KvStream>> before;
  {
    const std::lock_guard lock(streams_mutex);
    before.swap(streams);
  }
  std::vector<std::unique_ptr<KvStream>> now(sources.size());
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const auto same = std::ranges::find_if(before, [&](const auto& stream) {
      return stream && is_same_stream(stream->source(), sources[i]);
    });
    if (same != before.end()) {
      now[i] = std::move(*same);
      now[i]->update(std::move(sources[i]));
    }
  }
  before.clear();  // first: a new stream may be of the same replica and rank
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (now[i]) {
      continue;
    }
    auto stream = KvStream::open(sources[i], tools);
    if (stream) {
      now[i] = std::move(*stream);
    } else {
      tools.tell({.kind = KvNotice::Kind::kBad,
                  .provider = sources[i].provider,
                  .rank = sources[i].rank,
                  .text = "not followed: there are too many streams of KV events"});
    }
  }
  std::erase(now, nullptr);
  const std::lock_guard lock(streams_mutex);
  streams.swap(now);
}

void KvEventFeed::Impl::step_all(TimePoint now) {
  items.clear();
  items.push_back(
      {.socket = nullptr, .fd = wake_up.descriptor(), .events = ZMQ_POLLIN, .revents = 0});
  next_step = now + kLongestWait;
  for (const auto& stream : streams) {
    stream->step(now);
    next_step = std::min(next_step, stream->next_step());
    stream->append_to(items);
  }
}

void KvEventFeed::Impl::wait() {
  using std::chrono::milliseconds;
  const auto left = std::chrono::ceil<milliseconds>(next_step - tools.clock.now());
  const long timeout = std::max<long>(left.count(), 0);
  if (zmq_poll(items.data(), static_cast<int>(items.size()), timeout) < 0) {
    if (zmq_errno() != EINTR) {
      throw zmq::error_t();
    }
    for (zmq::pollitem_t& item : items) {
      item.revents = 0;
    }
  }
  if (items.front().revents != 0) {
    wake_up.take();
  }
}

}  // namespace rolter::feeds
