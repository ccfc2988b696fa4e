#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "rolter/kvcache/event_stream.h"
#include "tests/fakes/recorded_messages.h"

namespace rolter::kvcache {

/// Writes down what the stream asks for: "apply x", "forget blocks", "replay from 3", ...
class Written final : public EventStreamActions {
 public:
  bool apply(Payload payload) override {
    const std::string_view text(reinterpret_cast<const char*>(payload.data()), payload.size());
    add(text == "junk" ? "junk" : text);
    return text != "junk";
  }
  void forget(Forget what) override {
    add(what == Forget::kBlocks ? "forget blocks" : "forget engine");
  }
  void ask_replay(std::uint64_t from) override { add("replay from " + std::to_string(from)); }
  void state_changed(StreamState state) override { add("is " + std::string(to_string(state))); }

  /// Everything since the last call, in order.
  std::string take() { return std::exchange(text_, ""); }

 private:
  void add(std::string_view what) { text_ += (text_.empty() ? "" : "; ") + std::string(what); }

  std::string text_;
};

class EventStreamTest : public testing::Test {
 protected:
  explicit EventStreamTest(bool can_replay = true) : stream({.can_replay = can_replay}, written) {}

  void live(std::uint64_t sequence, std::string_view payload) {
    stream.live(sequence, fakes::as_payload(payload), now);
  }
  void replayed(std::uint64_t sequence, std::string_view payload) {
    stream.replayed(sequence, fakes::as_payload(payload), now);
  }
  void pass(Duration duration) {
    const TimePoint until = now + duration;
    while (const auto next = stream.next_tick()) {
      if (*next > until) {
        break;
      }
      now = std::max(now, *next);
      stream.tick(now);
    }
    now = until;
    stream.tick(now);
  }
  /// Connected, with batches a0 and a1 applied.
  void follow_two() {
    stream.connected(now);
    stream.replay_ended(now);
    live(0, "a0");
    live(1, "a1");
    written.take();
  }

  Written written;
  EventStream stream;
  TimePoint now{std::chrono::seconds(1000)};
};

}  // namespace rolter::kvcache
