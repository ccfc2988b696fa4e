// The event stream's state machine under any order of inputs. Batches must be applied in the order
// of their numbers, without a gap unless the history was given up before, and no credit may be
// given while a replay is under way.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>

#include "rolter/kvcache/event_stream.h"

namespace {

using rolter::kvcache::EventStreamActions;
using rolter::kvcache::Payload;
using rolter::kvcache::StreamState;

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

/// A payload names its batch: its number, and whose (0..2) it is; 3 cannot be read.
using Batch = std::array<std::byte, 2>;

Batch batch_of(std::uint8_t sequence, std::uint8_t owner) {
  return {std::byte{sequence}, std::byte{owner}};
}

class Checked final : public EventStreamActions {
 public:
  explicit Checked(bool can_replay) : can_replay_(can_replay) {}

  bool apply(Payload payload) override {
    const int sequence = std::to_integer<int>(payload[0]);
    if (payload[1] == std::byte{3}) {
      retried_ = sequence;
      return false;
    }
    if (last_ && retried_ != sequence && retried_ != sequence - 1) {
      require(can_replay_ ? sequence == *last_ + 1 : sequence > *last_);
    }
    retried_.reset();
    last_ = sequence;
    return true;
  }
  void forget(Forget) override { last_.reset(); }
  void ask_replay(std::uint64_t from) override {
    require(can_replay_ && from <= 255);
    asked_ = true;
  }
  void state_changed(StreamState state) override { state_ = state; }

  [[nodiscard]] StreamState state() const { return state_; }

 private:
  bool can_replay_;
  bool asked_ = false;
  std::optional<int> last_;
  std::optional<int> retried_;
  StreamState state_ = StreamState::kConnecting;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::span<const std::uint8_t> input(data, size);
  if (input.empty()) {
    return 0;
  }
  const bool can_replay = input[0] % 4 != 0;
  input = input.subspan(1);
  Checked actions(can_replay);
  rolter::kvcache::EventStream stream({.can_replay = can_replay}, actions);
  rolter::TimePoint now{};
  bool connected = false;
  for (; input.size() >= 2; input = input.subspan(2)) {
    const std::uint8_t what = input[0] % 8;
    const auto owner = static_cast<std::uint8_t>(input[0] / 8 % 4);
    const Batch batch = batch_of(input[1], owner);
    switch (what) {
      case 0:
      case 1:
        if (connected) {
          stream.live(input[1], batch, now);
        }
        break;
      case 2:
        stream.replayed(input[1], batch, now);
        break;
      case 3:
        stream.replay_ended(now);
        break;
      case 4:
        stream.replay_failed(now);
        break;
      case 5:
        connected ? stream.disconnected(now) : stream.connected(now);
        connected = !connected;
        break;
      case 6:
        stream.expect_event(now);
        break;
      default:
        now += std::chrono::milliseconds(input[1] * 250);
        stream.tick(now);
        require(!stream.next_tick() || *stream.next_tick() > now);
        break;
    }
    require(actions.state() == stream.state());
  }
  return 0;
}
