// The event feed against publishers on real sockets.
#include "rolter/feeds/kv_events.h"

#include <atomic>
#include <ctime>

#include "tests/fakes/msgpack_writer.h"
#include "tests/fakes/trap_listener.h"
#include "tests/integration/feeds/kv_feed_fixture.h"

namespace rolter::feeds {
namespace {

using fakes::EventPublisher;
using kvcache::StreamState;
using std::chrono::milliseconds;

/// A batch that stores one block of one token, the root of a chain.
std::string batch_with(TokenId token) {
  return fakes::batch({fakes::map({{"type", fakes::text("BlockStored")},
                                   {"block_hashes", fakes::numbers({1000 + token})},
                                   {"parent_block_hash", fakes::nil()},
                                   {"token_ids", fakes::numbers({token})},
                                   {"block_size", fakes::number(1)}})});
}

TEST_F(KvFeedTest, follows_an_engine_from_its_first_batch) {
  EventPublisher engine;
  follow({source_of(engine)});
  await_state(StreamState::kLive);
  engine.publish(batch_with(7));
  await_batches(1);
  EXPECT_EQ(resident({7}, 1), 1U);
  EXPECT_EQ(status().blocks, 1U);
  EXPECT_EQ(notices(), std::vector<std::string>{"live"});
}

TEST_F(KvFeedTest, a_late_joiner_gets_the_history_by_replay) {
  EventPublisher engine;
  for (TokenId token = 0; token < 500; ++token) {
    engine.publish(batch_with(token));
  }
  follow({source_of(engine)});
  await_batches(500);
  EXPECT_EQ(status().state, StreamState::kLive);
  EXPECT_EQ(status().blocks, 500U);
}

TEST_F(KvFeedTest, a_late_joiner_after_a_short_buffer_knows_a_part) {
  EventPublisher engine;
  for (TokenId token = 0; token < 10; ++token) {
    engine.publish(batch_with(token));
  }
  engine.keep_newest(4);
  follow({source_of(engine)});
  await_batches(4);
  EXPECT_EQ(status().state, StreamState::kPartial);
  EXPECT_EQ(status().blocks, 4U);
  EXPECT_EQ(notices_with("partial"), 1U);
}

TEST_F(KvFeedTest, a_gap_is_closed_by_a_replay) {
  EventPublisher engine;
  follow({source_of(engine)});
  await_state(StreamState::kLive);
  engine.publish(batch_with(0));
  await_batches(1);
  engine.lose(batch_with(1));
  engine.lose(batch_with(2));
  engine.publish(batch_with(3));
  await_batches(4);
  EXPECT_EQ(status().state, StreamState::kLive);
  EXPECT_EQ(status().batches.gaps, 1U);
  EXPECT_EQ(status().blocks, 4U);
}

TEST_F(KvFeedTest, without_a_replay_endpoint_a_gap_leaves_what_is_known_as_partial) {
  EventPublisher engine;
  follow({source_at(engine.port(), std::nullopt)});
  engine.await_subscriber();
  engine.publish(batch_with(0));
  await_batches(1);
  EXPECT_EQ(status().state, StreamState::kLive);
  engine.lose(batch_with(1));
  engine.publish(batch_with(2));
  await_batches(2);
  EXPECT_EQ(status().state, StreamState::kPartial);
  EXPECT_EQ(resident({0}, 1), 1U);
  EXPECT_EQ(engine.replays(), 0U);
}

TEST_F(KvFeedTest, a_restarted_engine_has_nothing_of_what_it_had) {
  EventPublisher engine;
  engine.publish(batch_with(0));
  engine.publish(batch_with(1));
  follow({source_of(engine)});
  await_batches(2);
  engine.restart();
  engine.publish(batch_with(5));
  await_batches(3);
  EXPECT_EQ(status().state, StreamState::kLive);
  EXPECT_EQ(status().batches.restarts, 1U);
  EXPECT_EQ(notices_with("it has restarted"), 1U) << "for whoever else remembers the engine";
  EXPECT_EQ(status().blocks, 1U);
  EXPECT_EQ(resident({0}, 1), 0U);
  EXPECT_EQ(resident({5}, 1), 1U);
}

TEST_F(KvFeedTest, a_broken_connection_is_dialled_again_and_what_was_missed_is_replayed) {
  EventPublisher engine;
  engine.publish(batch_with(0));
  follow({source_of(engine)});
  await_batches(1);
  engine.cut();
  await_notice("lost the connection to tcp://replica.test:");
  engine.lose(batch_with(1));
  engine.come_back();
  await_batches(2);
  EXPECT_EQ(status().batches.restarts, 0U);
  EXPECT_EQ(resident({1}, 1), 1U);
}

TEST_F(KvFeedTest, a_stream_that_stays_away_is_stale_until_it_is_back) {
  EventPublisher engine;
  engine.publish(batch_with(0));
  KvSource source = source_of(engine);
  source.stale = milliseconds{150};
  follow({source});
  await_batches(1);
  EXPECT_EQ(resident({0}, 1), 1U);
  engine.cut();
  await_state(StreamState::kStale);
  EXPECT_EQ(resident({0}, 1), 0U) << "no credit";
  EXPECT_EQ(status().blocks, 1U) << "but not forgotten";
  await_notice("stale");
  engine.come_back();
  await_state(StreamState::kLive);
  EXPECT_EQ(resident({0}, 1), 1U);
}

TEST_F(KvFeedTest, an_engine_that_starts_later_is_found) {
  EventPublisher engine;
  engine.cut();
  follow({source_of(engine)});
  await_notice("cannot connect to tcp://replica.test:");
  EXPECT_EQ(status().state, StreamState::kConnecting);
  engine.come_back();
  await_state(StreamState::kLive);
  engine.publish(batch_with(3));
  await_batches(1);
}

TEST_F(KvFeedTest, events_under_another_topic_are_named_once_and_never_count) {
  EventPublisher engine("kv-events");
  engine.publish(batch_with(0));
  KvSource source = source_of(engine);
  source.topic = "other";
  follow({source});
  await([&] { return status().connected && status().foreign_topics == 1; }, "the replay");
  engine.publish(batch_with(1));
  engine.publish(batch_with(2));
  await([&] { return status().foreign_topics == 3; }, "three messages");
  EXPECT_EQ(notices_with("events come under topic \"kv-events\" and topic = \"other\""), 1U);
  EXPECT_EQ(status().blocks, 0U);
  ASSERT_TRUE(view());
  EXPECT_FALSE(view()->usable);
}

TEST_F(KvFeedTest, a_topic_is_a_prefix) {
  EventPublisher engine("kv@10.0.0.1@model");
  KvSource source = source_of(engine);
  source.topic = "kv@";
  follow({source});
  await_state(StreamState::kLive);
  engine.publish(batch_with(0));
  await_batches(1);
  EXPECT_EQ(status().foreign_topics, 0U);
}

TEST_F(KvFeedTest, junk_is_counted_and_survived) {
  EventPublisher engine;
  follow({source_of(engine)});
  await_state(StreamState::kLive);
  engine.publish_raw({"just one frame"});
  engine.publish_raw({"", "short", "payload"});
  engine.publish_raw({"1", "2", "3", "4", "5", "6", "7"});
  engine.publish(batch_with(0));
  await_batches(1);
  EXPECT_EQ(status().batches.malformed_frames, 3U);
  EXPECT_EQ(notices_with("no KV events"), 1U);
  engine.publish("\x93junk");  // asked for once more, then skipped
  await([&] { return status().batches.unreadable_batches == 2; }, "the second reading");
  engine.publish(batch_with(1));
  await_batches(2);
  EXPECT_EQ(resident({1}, 1), 1U);
}

TEST_F(KvFeedTest, a_denied_address_is_never_dialled) {
  const fakes::TrapListener trap;
  egress_ = [](const http::Endpoint& to) -> Result<void> {
    return fail(ErrorKind::kDenied, "denied: " + to.address().to_string());
  };
  follow({source_at(trap.port(), trap.port())});
  await_notice("denied: 127.0.0.1");
  EXPECT_EQ(trap.connections(), 0U);
}

TEST_F(KvFeedTest, a_name_that_comes_to_mean_a_denied_address_is_left_at_once) {
  EventPublisher engine;
  const fakes::TrapListener trap("127.0.0.2", engine.port());
  const auto name = cell({"127.0.0.1"});
  egress_ = [](const http::Endpoint& to) -> Result<void> {
    if (to.address().to_string() == "127.0.0.2") {
      return fail(ErrorKind::kDenied, "denied: 127.0.0.2");
    }
    return {};
  };
  KvSource source = source_of(engine);
  source.events = server(engine.port(), name);
  follow({source});
  await_state(StreamState::kLive);
  name->publish(cell({"127.0.0.2"})->load());
  await_notice("denied: 127.0.0.2");
  EXPECT_FALSE(status().connected);
  EXPECT_EQ(trap.connections(), 0U);
  name->publish(cell({"127.0.0.1"})->load());
  await([&] { return status().connected; }, "the way back");
}

TEST_F(KvFeedTest, a_name_that_is_not_resolved_yet_is_waited_for_quietly) {
  EventPublisher engine;
  const auto name = cell({});
  KvSource source = source_of(engine);
  source.events = server(engine.port(), name);
  follow({source});
  name->publish(cell({"127.0.0.1"})->load());
  await_state(StreamState::kLive);
  EXPECT_EQ(notices(), std::vector<std::string>{"live"});
}

TEST_F(KvFeedTest, the_allowed_address_of_a_name_is_taken) {
  EventPublisher engine;
  egress_ = [](const http::Endpoint& to) -> Result<void> {
    if (to.address().to_string() == "127.0.0.9") {
      return fail(ErrorKind::kDenied, "denied");
    }
    return {};
  };
  KvSource source = source_of(engine);
  source.events = server(engine.port(), cell({"127.0.0.9", "127.0.0.1"}));
  source.replay = server(engine.replay_port(), cell({"127.0.0.9", "127.0.0.1"}));
  follow({source});
  await_state(StreamState::kLive);
}

TEST_F(KvFeedTest, a_reload_keeps_the_streams_that_stay_and_forgets_the_others) {
  EventPublisher engine;
  EventPublisher other;
  engine.publish(batch_with(0));
  other.publish(batch_with(0));
  KvSource second = source_of(other);
  second.rank = 1;
  follow({source_of(engine), second});
  await_batches(1, 0);
  await_batches(1, 1);
  follow({source_of(engine)});
  EXPECT_FALSE(view(1));
  EXPECT_EQ(resident({0}, 1), 1U);
  EXPECT_TRUE(status().connected);
  EXPECT_EQ(engine.replays(), 1U);

  KvSource changed = source_of(engine);
  changed.max_blocks = 10;
  follow({changed});
  await_batches(1);
  EXPECT_EQ(engine.replays(), 2U) << "followed anew";
}

TEST_F(KvFeedTest, a_reload_that_denies_the_address_ends_the_connection) {
  EventPublisher engine;
  follow({source_of(engine)});
  await_state(StreamState::kLive);
  egress_ = [](const http::Endpoint&) -> Result<void> {
    return fail(ErrorKind::kDenied, "denied by the new policy");
  };
  follow({source_of(engine)});
  await_notice("denied by the new policy");
  EXPECT_FALSE(status().connected);
}

TEST_F(KvFeedTest, a_replay_that_may_not_be_dialled_leaves_the_live_stream) {
  EventPublisher engine;
  engine.publish(batch_with(0));
  KvSource source = source_of(engine);
  source.replay->egress = [](const http::Endpoint&) -> Result<void> {
    return fail(ErrorKind::kDenied, "denied");
  };
  follow({source});
  await_notice("cannot ask for a replay: denied");
  await_state(StreamState::kPartial);
  engine.await_subscriber();
  engine.publish(batch_with(1));
  await_batches(1);
  EXPECT_EQ(resident({1}, 1), 1U);
}

TEST_F(KvFeedTest, an_answer_without_its_event_makes_the_stream_stale) {
  EventPublisher engine;
  KvSource source = source_at(engine.port(), std::nullopt);
  source.stale = milliseconds{200};
  follow({source});
  engine.await_subscriber();
  engine.publish(batch_with(0));
  await_batches(1);
  const TimePoint sent = std::chrono::steady_clock::now();
  feed_.expect_event(ReplicaSlot{0}, 1, sent - milliseconds{10'000});  // its event has come
  const auto until = sent + milliseconds{1500};                        // seen within a second
  await([&] { return std::chrono::steady_clock::now() >= until; }, "the wait");
  EXPECT_EQ(status().state, StreamState::kLive);
  feed_.expect_event(ReplicaSlot{0}, 1, std::chrono::steady_clock::now());
  await_state(StreamState::kStale);
  engine.publish(batch_with(1));
  await_batches(2);
  EXPECT_EQ(status().state, StreamState::kLive);
}

TEST_F(KvFeedTest, an_unanswered_expectation_is_settled_by_a_replay) {
  EventPublisher engine;
  KvSource source = source_of(engine);
  source.stale = milliseconds{200};
  follow({source});
  await_state(StreamState::kLive);
  engine.publish(batch_with(0));
  await_batches(1);
  engine.lose(batch_with(1));
  feed_.expect_event(ReplicaSlot{0}, 1, std::chrono::steady_clock::now());
  await_batches(2);
  EXPECT_EQ(status().state, StreamState::kLive);
  EXPECT_EQ(status().blocks, 2U);
}

TEST_F(KvFeedTest, silence_costs_nothing) {
  EventPublisher engine;
  KvSource absent = source_at(1, std::nullopt);  // nobody listens: dialled again and again
  absent.rank = 1;
  follow({source_of(engine), absent});
  await_state(StreamState::kLive);
  clockid_t clock{};
  ASSERT_EQ(pthread_getcpuclockid(thread().native_handle(), &clock), 0);
  const auto used = [clock] {
    timespec time{};
    clock_gettime(clock, &time);
    return std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec};
  };
  const auto before = used();
  const auto until = std::chrono::steady_clock::now() + milliseconds{500};
  await([&] { return std::chrono::steady_clock::now() >= until; }, "half a second");
  EXPECT_LT(used() - before, milliseconds{100});
}

}  // namespace
}  // namespace rolter::feeds
