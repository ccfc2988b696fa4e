#include "tests/unit/kvcache/event_stream_fixture.h"

namespace rolter::kvcache {
namespace {

using std::chrono::seconds;

class WithoutReplay : public EventStreamTest {
 protected:
  WithoutReplay() : EventStreamTest(false) {}
};

TEST_F(WithoutReplay, a_late_joiner_is_partial_at_once) {
  stream.connected(now);
  EXPECT_EQ(stream.state(), StreamState::kConnecting);
  live(40, "a40");
  EXPECT_EQ(written.take(), "a40; is partial");
  EXPECT_EQ(stream.counters().gaps, 0U);
}

TEST_F(WithoutReplay, a_gap_leaves_what_is_known) {
  stream.connected(now);
  live(0, "a0");
  EXPECT_EQ(written.take(), "a0; is live");
  live(3, "a3");
  EXPECT_EQ(written.take(), "a3; is partial");
  EXPECT_EQ(stream.counters().gaps, 1U);
}

TEST_F(WithoutReplay, after_a_reconnect_the_next_number_tells) {
  stream.connected(now);
  live(0, "a0");
  stream.disconnected(now);
  stream.connected(now);
  EXPECT_EQ(written.take(), "a0; is live; is catching_up");
  live(1, "a1");
  EXPECT_EQ(written.take(), "a1; is live");
  stream.disconnected(now);
  stream.connected(now);
  live(0, "b0");
  EXPECT_EQ(written.take(), "is catching_up; forget engine; b0; is live");
}

TEST_F(WithoutReplay, unanswered_activity_is_stale_until_the_next_batch) {
  stream.connected(now);
  live(0, "a0");
  written.take();
  stream.expect_event(now);
  pass(seconds(30));
  EXPECT_EQ(written.take(), "is stale");
  live(1, "a1");
  EXPECT_EQ(written.take(), "a1; is live");
}

TEST_F(WithoutReplay, frames_that_are_no_message_are_counted_and_survived) {
  stream.connected(now);
  stream.malformed_frame();
  live(0, "a0");
  EXPECT_EQ(stream.counters().malformed_frames, 1U);
  EXPECT_EQ(stream.state(), StreamState::kLive);
}

}  // namespace
}  // namespace rolter::kvcache
