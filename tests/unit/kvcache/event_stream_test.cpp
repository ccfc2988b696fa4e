#include "tests/unit/kvcache/event_stream_fixture.h"

namespace rolter::kvcache {
namespace {

using std::chrono::seconds;

TEST_F(EventStreamTest, a_late_joiner_replays_from_the_start_and_merges_what_came_meanwhile) {
  EXPECT_EQ(stream.state(), StreamState::kConnecting);
  stream.connected(now);
  EXPECT_EQ(written.take(), "replay from 0; is catching_up");
  live(2, "a2");
  replayed(0, "a0");
  replayed(1, "a1");
  live(3, "a3");
  replayed(2, "a2");
  EXPECT_EQ(written.take(), "a0; a1; a2");
  stream.replay_ended(now);
  EXPECT_EQ(written.take(), "a3; is live");
  EXPECT_EQ(stream.counters().duplicates, 1U);
  live(4, "a4");
  EXPECT_EQ(written.take(), "a4");
}

TEST_F(EventStreamTest, a_ring_that_starts_late_leaves_the_state_partial) {
  stream.connected(now);
  replayed(70, "a70");
  replayed(71, "a71");
  stream.replay_ended(now);
  EXPECT_EQ(written.take(), "replay from 0; is catching_up; a70; a71; is partial");
  EXPECT_TRUE(is_usable(stream.state()));
}

TEST_F(EventStreamTest, an_engine_without_history_is_live_from_its_first_batch) {
  stream.connected(now);
  stream.replay_ended(now);
  EXPECT_EQ(written.take(), "replay from 0; is catching_up; is live");
  live(0, "a0");
  EXPECT_EQ(written.take(), "a0");
}

TEST_F(EventStreamTest, a_gap_is_neutral_until_the_replay_from_the_last_batch_has_closed_it) {
  follow_two();
  live(5, "a5");
  EXPECT_EQ(written.take(), "replay from 1; is catching_up");
  EXPECT_FALSE(is_usable(stream.state()));
  replayed(1, "a1");
  replayed(2, "a2");
  replayed(3, "a3");
  replayed(4, "a4");
  replayed(5, "a5");
  stream.replay_ended(now);
  EXPECT_EQ(written.take(), "a2; a3; a4; a5; is live");
  EXPECT_EQ(stream.counters().gaps, 1U);
}

TEST_F(EventStreamTest, a_replay_that_is_too_short_costs_what_was_known) {
  follow_two();
  live(50, "a50");
  written.take();
  replayed(40, "a40");
  EXPECT_EQ(written.take(), "forget engine; a40");
  for (std::uint64_t i = 41; i <= 50; ++i) {
    replayed(i, "a" + std::to_string(i));
  }
  written.take();
  stream.replay_ended(now);
  EXPECT_EQ(written.take(), "is partial");
  EXPECT_EQ(stream.counters().holes, 1U);
}

TEST_F(EventStreamTest, a_number_that_goes_backwards_is_a_restart) {
  follow_two();
  live(0, "b0");
  EXPECT_EQ(written.take(), "forget engine; b0");
  EXPECT_EQ(stream.state(), StreamState::kLive);
  EXPECT_EQ(stream.counters().restarts, 1U);
}

TEST_F(EventStreamTest, a_restart_seen_late_replays_the_new_process_from_its_start) {
  follow_two();
  live(1, "b1");
  EXPECT_EQ(written.take(), "forget engine; replay from 0; is catching_up");
  replayed(0, "b0");
  replayed(1, "b1");
  stream.replay_ended(now);
  EXPECT_EQ(written.take(), "b0; b1; is live");
}

TEST_F(EventStreamTest, duplicates_are_left_out) {
  follow_two();
  live(1, "a1");
  live(0, "a0");
  EXPECT_EQ(written.take(), "");
  EXPECT_EQ(stream.counters().duplicates, 2U);
  EXPECT_EQ(stream.counters().restarts, 0U);
}

TEST_F(EventStreamTest, a_reconnect_that_finds_the_last_batch_again_goes_on) {
  follow_two();
  stream.disconnected(now);
  EXPECT_EQ(written.take(), "");
  EXPECT_EQ(stream.state(), StreamState::kLive);  // for as long as it is not stale
  pass(seconds(5));
  stream.connected(now);
  EXPECT_EQ(written.take(), "replay from 1; is catching_up");
  replayed(1, "a1");
  replayed(2, "a2");
  stream.replay_ended(now);
  EXPECT_EQ(written.take(), "a2; is live");
}

TEST_F(EventStreamTest, a_reconnect_to_a_younger_process_starts_afresh) {
  follow_two();
  stream.disconnected(now);
  stream.connected(now);
  stream.replay_ended(now);  // an empty replay does not mean up to date
  EXPECT_EQ(written.take(), "replay from 1; is catching_up; forget engine; replay from 0");
  replayed(0, "b0");
  stream.replay_ended(now);
  EXPECT_EQ(written.take(), "b0; is live");
}

TEST_F(EventStreamTest, a_reconnect_to_a_process_that_has_passed_our_number_starts_afresh) {
  follow_two();
  stream.disconnected(now);
  stream.connected(now);
  replayed(1, "b1");
  EXPECT_EQ(written.take(), "replay from 1; is catching_up; forget engine; replay from 0");
  replayed(0, "b0");
  replayed(1, "b1");
  replayed(2, "b2");
  stream.replay_ended(now);
  EXPECT_EQ(written.take(), "b0; b1; b2; is live");
  EXPECT_EQ(stream.counters().restarts, 1U);
}

TEST_F(EventStreamTest, a_restart_during_a_replay_starts_afresh) {
  follow_two();
  live(4, "a4");
  written.take();
  live(0, "b0");
  EXPECT_EQ(written.take(), "forget engine; b0; is live");
  replayed(1, "a1");  // an answer from the old process
  EXPECT_EQ(written.take(), "");
}

TEST_F(EventStreamTest, a_replay_with_batches_missing_in_the_middle_is_asked_again_from_there) {
  follow_two();
  live(9, "a9");
  written.take();
  replayed(1, "a1");
  replayed(2, "a2");
  replayed(6, "a6");  // 3 to 5 were dropped by the sender's queue
  replayed(7, "a7");
  stream.replay_ended(now);
  EXPECT_EQ(written.take(), "a2; replay from 2");
  for (std::uint64_t i = 2; i < 9; ++i) {
    replayed(i, "a" + std::to_string(i));
  }
  stream.replay_ended(now);
  EXPECT_EQ(written.take(), "a3; a4; a5; a6; a7; a8; a9; is live");
}

TEST_F(EventStreamTest, unanswered_replays_end_and_leave_a_partial_state_without_old_blocks) {
  follow_two();
  live(5, "a5");
  live(6, "a6");
  EXPECT_EQ(written.take(), "replay from 1; is catching_up");
  pass(seconds(5));
  pass(seconds(5));
  EXPECT_EQ(written.take(), "replay from 1; replay from 1");
  pass(seconds(5));
  EXPECT_EQ(written.take(), "forget blocks; a5; a6; is partial");
  EXPECT_EQ(stream.counters().failed_replays, 3U);
  live(8, "a8");  // no replays for a minute
  EXPECT_EQ(written.take(), "forget blocks; a8");
  pass(seconds(61));
  live(10, "a10");
  EXPECT_EQ(written.take(), "replay from 8; is catching_up");
}

TEST_F(EventStreamTest, a_slow_replay_is_waited_for_while_it_moves) {
  stream.connected(now);
  written.take();
  for (std::uint64_t i = 0; i < 10; ++i) {
    pass(seconds(4));
    replayed(i, "a" + std::to_string(i));
  }
  EXPECT_EQ(stream.counters().failed_replays, 0U);
  EXPECT_EQ(stream.state(), StreamState::kCatchingUp);
}

TEST_F(EventStreamTest, silence_alone_is_not_stale) {
  follow_two();
  pass(std::chrono::hours(24));
  EXPECT_EQ(written.take(), "");
  EXPECT_EQ(stream.state(), StreamState::kLive);
  EXPECT_EQ(stream.next_tick(), std::nullopt);
}

TEST_F(EventStreamTest, a_transport_that_stays_away_is_stale) {
  follow_two();
  stream.disconnected(now);
  pass(seconds(29));
  EXPECT_EQ(stream.state(), StreamState::kLive);
  pass(seconds(1));
  EXPECT_EQ(written.take(), "is stale");
  stream.connected(now);
  EXPECT_EQ(written.take(), "replay from 1; is catching_up");
}

TEST_F(EventStreamTest, unanswered_activity_asks_for_a_replay_and_is_forgiven_by_its_answer) {
  follow_two();
  stream.expect_event(now);
  pass(seconds(20));
  stream.expect_event(now);
  EXPECT_EQ(stream.state(), StreamState::kLive);
  pass(seconds(10));
  EXPECT_EQ(written.take(), "replay from 1; is stale");
  replayed(1, "a1");
  stream.replay_ended(now);
  EXPECT_EQ(written.take(), "is live");
}

TEST_F(EventStreamTest, activity_that_is_answered_in_time_is_not_stale) {
  follow_two();
  stream.expect_event(now);
  pass(seconds(29));
  live(2, "a2");
  pass(seconds(60));
  EXPECT_EQ(stream.state(), StreamState::kLive);
}

TEST_F(EventStreamTest, a_batch_that_cannot_be_read_is_asked_for_once_and_then_skipped) {
  follow_two();
  live(2, "junk");
  EXPECT_EQ(written.take(), "junk; replay from 1; is catching_up");
  replayed(1, "a1");
  replayed(2, "junk");
  stream.replay_ended(now);
  EXPECT_EQ(written.take(), "junk; is partial");
  live(3, "junk");
  live(4, "a4");
  EXPECT_EQ(written.take(), "junk; a4");
  EXPECT_EQ(stream.counters().unreadable_batches, 3U);
}

TEST_F(EventStreamTest, a_batch_that_reads_well_in_the_replay_leaves_the_state_whole) {
  follow_two();
  live(2, "junk");
  replayed(1, "a1");
  replayed(2, "a2");
  stream.replay_ended(now);
  EXPECT_EQ(written.take(), "junk; replay from 1; is catching_up; a2; is live");
}

TEST_F(EventStreamTest, an_engine_that_keeps_no_history_does_not_make_it_ask_forever) {
  stream.connected(now);
  stream.replay_ended(now);
  live(7, "a7");
  stream.replay_ended(now);
  EXPECT_EQ(written.take(),
            "replay from 0; is catching_up; is live; replay from 0; "
            "is catching_up; a7; is partial");
  live(9, "a9");
  stream.replay_ended(now);  // nothing from 7 on: looks like a restart
  stream.replay_ended(now);
  EXPECT_EQ(written.take(),
            "replay from 7; is catching_up; forget engine; replay from 0; a9; "
            "is partial");
}

TEST_F(EventStreamTest, live_batches_beyond_the_backlog_are_asked_for_again) {
  stream.connected(now);
  for (std::uint64_t i = 0; i < 10'010; ++i) {
    live(i + 1, "a");
  }
  EXPECT_EQ(stream.counters().overflows, 10U);
  replayed(0, "a0");
  written.take();
  stream.replay_ended(now);
  live(10'011, "a");
  EXPECT_TRUE(written.take().ends_with("replay from 10000; is catching_up"));
}

}  // namespace
}  // namespace rolter::kvcache
