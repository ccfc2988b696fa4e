#include "rolter/balance/prefill_queues.h"

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <utility>
#include <vector>

#include "rolter/base/random.h"

namespace rolter::balance {
namespace {

using namespace std::chrono_literals;
using Ticket = PrefillQueues::Ticket;

constexpr TimePoint kFirstSent = TimePoint{} + std::chrono::hours(1);

Duration span_of(double value) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(value));
}

class PrefillQueuesTest : public ::testing::Test {
 protected:
  Ticket send(std::uint32_t replica, double tokens, TimePoint now, bool streamed = true) {
    return queues_.add(
        {.replica = ReplicaSlot{replica}, .uncached_tokens = tokens, .streamed = streamed}, now);
  }

  PrefillQueues::State state(std::uint32_t replica, TimePoint now) {
    const ReplicaSlot slot{replica};
    PrefillQueues::State state;
    queues_.states({&slot, 1}, now, {&state, 1});
    return state;
  }

  /// The replica serves `count` prompts of 1,000 tokens one after the other.
  TimePoint serve(std::uint32_t replica, int count, double tokens_per_s, TimePoint now) {
    for (int i = 0; i < count; ++i) {
      const Ticket ticket = send(replica, 1'000.0, now);
      now += span_of(1'000.0 / tokens_per_s);
      queues_.first_byte(ticket, now);
      queues_.remove(ticket, now);
    }
    return now;
  }

  PrefillQueues queues_;
};

TEST_F(PrefillQueuesTest, replicas_are_alike_until_something_is_known) {
  EXPECT_EQ(state(0, kFirstSent).tokens_per_s, state(7, kFirstSent).tokens_per_s);
  EXPECT_EQ(state(0, kFirstSent).queue_s, 0.0);
  (void)serve(0, 20, 500.0, kFirstSent);
  EXPECT_NEAR(state(0, kFirstSent).tokens_per_s, 500.0, 1.0);
  EXPECT_EQ(state(7, kFirstSent).tokens_per_s, state(0, kFirstSent).tokens_per_s)
      << "as the others";
}

TEST_F(PrefillQueuesTest, a_replica_s_own_speed_is_learned_and_noise_is_not) {
  TimePoint now = kFirstSent;
  for (int i = 0; i < 20; ++i) {
    now = serve(0, 1, 1'000.0, now);
    now = serve(1, 1, 1'050.0, now);
    now = serve(2, 1, 4'000.0, now);
  }
  EXPECT_EQ(state(0, now).tokens_per_s, state(1, now).tokens_per_s);
  EXPECT_NEAR(state(2, now).tokens_per_s, 4'000.0, 10.0);
}

TEST_F(PrefillQueuesTest, one_wild_sample_moves_the_speed_by_little) {
  const TimePoint now = serve(0, 64, 1'000.0, kFirstSent);
  const Ticket stuck = send(0, 1'000.0, now);
  queues_.first_byte(stuck, now + 600s);
  queues_.remove(stuck, now + 600s);
  EXPECT_GT(state(0, now + 600s).tokens_per_s, 900.0);
}

TEST_F(PrefillQueuesTest, the_queue_shrinks_as_time_passes_and_ends_with_the_first_tokens) {
  TimePoint now = serve(0, 20, 1'000.0, kFirstSent);
  const Ticket first = send(0, 2'000.0, now);
  const Ticket second = send(0, 1'000.0, now);
  EXPECT_NEAR(state(0, now).queue_s, 3.0, 0.05);
  EXPECT_NEAR(state(0, now + 500ms).queue_s, 2.5, 0.05);
  EXPECT_NEAR(state(0, now + 9s).queue_s, 1.0, 0.05) << "the second has not begun";
  queues_.first_byte(first, now + 9s);
  EXPECT_NEAR(state(0, now + 9s + 400ms).queue_s, 0.6, 0.05);
  queues_.first_byte(second, now + 10s);
  EXPECT_EQ(state(0, now + 10s).queue_s, 0.0);
}

TEST_F(PrefillQueuesTest, a_prompt_that_left_is_waited_for_no_more) {
  const TimePoint now = serve(0, 20, 1'000.0, kFirstSent);
  const Ticket first = send(0, 2'000.0, now);
  const Ticket second = send(0, 1'000.0, now);
  queues_.remove(first, now + 1s);
  EXPECT_NEAR(state(0, now + 1s).queue_s, 1.0, 0.05);
  queues_.remove(second, now + 1s);
  EXPECT_EQ(state(0, now + 1s).queue_s, 0.0);
  queues_.remove(second, now + 1s);
  queues_.first_byte(second, now + 1s);
  EXPECT_EQ(queues_.find(second), std::nullopt);
}

TEST_F(PrefillQueuesTest, an_unstreamed_prompt_counts_as_computed_when_it_should_be) {
  const TimePoint now = serve(0, 20, 1'000.0, kFirstSent);
  (void)send(0, 2'000.0, now, false);
  (void)send(0, 1'000.0, now, false);
  EXPECT_NEAR(state(0, now + 1s).queue_s, 2.0, 0.05);
  EXPECT_NEAR(state(0, now + 2500ms).queue_s, 0.5, 0.05);
  EXPECT_EQ(state(0, now + 4s).queue_s, 0.0);
}

TEST_F(PrefillQueuesTest, a_later_first_token_shows_that_unstreamed_prompts_are_done) {
  TimePoint now = serve(0, 20, 1'000.0, kFirstSent);
  (void)send(0, 1'000.0, now, false);
  const Ticket streamed = send(0, 1'000.0, now);
  (void)send(0, 500.0, now);
  now += 500ms;  // twice as fast as thought
  queues_.first_byte(streamed, now);
  EXPECT_NEAR(state(0, now).queue_s, 0.5, 0.05);
}

TEST_F(PrefillQueuesTest, the_engine_s_own_count_teaches_the_speed) {
  TimePoint now = kFirstSent;
  for (int i = 0; i < 20; ++i) {
    const Ticket ticket = send(0, 1'000.0, now);  // thought to be uncached, but half of it was not
    now += 500ms;
    queues_.first_byte(ticket, now);
    queues_.computed(ticket, 500.0);
    queues_.remove(ticket, now);
  }
  EXPECT_NEAR(state(0, now).tokens_per_s, 1'000.0, 1.0);
}

TEST_F(PrefillQueuesTest, the_speed_of_a_replica_that_is_gone_is_not_its_successor_s) {
  TimePoint now = serve(0, 100, 2'000.0, kFirstSent);
  now = serve(1, 100, 500.0, now);
  EXPECT_NEAR(state(1, now).tokens_per_s, 500.0, 1.0);
  queues_.forget_speed(ReplicaSlot{1});
  EXPECT_GT(state(1, now).tokens_per_s, 600.0) << "as fast as the others, while nothing is known";
}

/// Prompts of random length at random times on an engine that computes them in order: what is
/// estimated is what the engine knows, once its speed is learned.
TEST_F(PrefillQueuesTest, estimates_equal_an_engine_that_computes_in_order) {
  constexpr double kSpeed = 2'000.0;
  Rng rng(3);
  TimePoint now = serve(0, 100, kSpeed, kFirstSent);
  TimePoint free_at = now;
  std::deque<std::pair<Ticket, TimePoint>> due;
  for (int i = 0; i < 500; ++i) {
    now += span_of(uniform_unit(rng));
    while (!due.empty() && due.front().second <= now) {
      queues_.first_byte(due.front().first, due.front().second);
      queues_.remove(due.front().first, due.front().second);
      due.pop_front();
    }
    const double really = free_at > now ? std::chrono::duration<double>(free_at - now).count() : 0;
    ASSERT_NEAR(state(0, now).queue_s, really, 0.01);
    const double tokens = 1.0 + 1'900.0 * uniform_unit(rng);
    free_at = std::max(free_at, now) + span_of(tokens / kSpeed);
    due.emplace_back(send(0, tokens, now), free_at);
  }
}

}  // namespace
}  // namespace rolter::balance
