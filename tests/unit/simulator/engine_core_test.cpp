#include "rolter/simulator/engine_core.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <vector>

namespace rolter::simulator {
namespace {

using std::chrono::duration;
using std::chrono::milliseconds;

constexpr TimePoint kStart{};

/// An engine of 1,000 prefill and 100 decode tokens per second, chunks of 100, blocks of 10.
SchedulerLimits limits() {
  SchedulerLimits limits;
  limits.blocks = 1001;
  limits.block_size = 10;
  limits.max_step_tokens = 100;
  limits.max_model_len = 5000;
  return limits;
}

constexpr EngineSpeed kSpeed{1000.0, 100.0};

SequenceSpec request(std::size_t prompt_tokens, std::size_t reply_tokens, TokenId first = 0) {
  SequenceSpec spec;
  for (std::size_t i = 0; i < prompt_tokens; ++i) {
    spec.prompt.push_back(first + static_cast<TokenId>(i));
  }
  spec.script.assign(reply_tokens, 5);
  return spec;
}

/// Seconds from the start at which each sequence got its tokens.
std::map<SequenceId, std::vector<double>> token_times(EngineCore& core) {
  std::map<SequenceId, std::vector<double>> times;
  while (const auto end = core.next_step_end()) {
    for (const Sampled& token : core.poll(*end)->sampled) {
      times[token.sequence].push_back(duration<double>(*end - kStart).count());
    }
  }
  return times;
}

TEST(EngineCore, a_lone_prompt_takes_its_tokens_by_the_prefill_speed) {
  EngineCore core(limits(), kSpeed);
  const SequenceId id = core.submit(request(450, 3), kStart);
  const auto times = token_times(core);
  EXPECT_NEAR(times.at(id)[0], 0.45, 1e-6);
  EXPECT_NEAR(times.at(id)[1], 0.46, 1e-6);
  EXPECT_NEAR(times.at(id)[2], 0.47, 1e-6);
}

TEST(EngineCore, prefill_is_first_come_first_served) {
  EngineCore core(limits(), kSpeed);
  const SequenceId first = core.submit(request(300, 1, 0), kStart);
  const SequenceId second = core.submit(request(300, 1, 10'000), kStart);
  const auto times = token_times(core);
  EXPECT_NEAR(times.at(first)[0], 0.3, 1e-6);
  EXPECT_NEAR(times.at(second)[0], 0.6, 1e-6);
}

TEST(EngineCore, only_tokens_that_are_not_cached_take_time) {
  EngineCore core(limits(), kSpeed);
  core.submit(request(400, 1), kStart);
  token_times(core);
  const SequenceId again = core.submit(request(405, 1), kStart);
  EXPECT_NEAR(token_times(core).at(again)[0], 0.005, 1e-6);
  EXPECT_EQ(core.stats().hit_tokens, 400U);
  EXPECT_EQ(core.stats().computed_prefill_tokens, 405U);
}

TEST(EngineCore, decoding_does_not_slow_down_with_the_number_of_sequences) {
  EngineCore core(limits(), kSpeed);
  std::vector<SequenceId> ids;
  for (TokenId i = 0; i < 5; ++i) {
    ids.push_back(core.submit(request(10, 50, i * 100), kStart));
  }
  const auto times = token_times(core);
  for (const SequenceId id : ids) {
    EXPECT_NEAR(times.at(id).back() - times.at(id)[10], 39 * 0.01, 1e-6);
  }
}

TEST(EngineCore, a_long_prefill_slows_a_running_decode_to_one_token_per_chunk) {
  EngineCore core(limits(), kSpeed);
  const SequenceId decoding = core.submit(request(10, 20), kStart);
  ASSERT_TRUE(core.poll(kStart + milliseconds(10)));
  core.submit(request(990, 1, 10'000), kStart + milliseconds(10));
  const auto times = token_times(core);
  // 99 tokens of prefill and one of decode fill a chunk of 100.
  EXPECT_NEAR(times.at(decoding)[3] - times.at(decoding)[2], 0.099, 1e-6);
}

TEST(EngineCore, prefill_keeps_its_speed_while_others_decode) {
  SchedulerLimits small_chunks = limits();
  small_chunks.max_step_tokens = 4;  // 4 ms a chunk, less than the 10 ms between two tokens
  EngineCore core(small_chunks, kSpeed);
  const SequenceId decoding = core.submit(request(4, 100), kStart);
  ASSERT_TRUE(core.poll(kStart + milliseconds(4)));
  const SequenceId long_one = core.submit(request(400, 1, 10'000), kStart + milliseconds(4));
  const auto times = token_times(core);
  EXPECT_NEAR(times.at(long_one)[0], 0.404, 0.003);
  EXPECT_NEAR(times.at(decoding).back(), 0.004 + 99 * 0.01, 0.005);
}

TEST(EngineCore, running_sequences_are_limited_and_the_rest_waits) {
  SchedulerLimits two = limits();
  two.max_running = 2;
  EngineCore core(two, kSpeed);
  for (TokenId i = 0; i < 3; ++i) {
    core.submit(request(10, 10, i * 100), kStart);
  }
  ASSERT_TRUE(core.poll(kStart + milliseconds(10)));
  EXPECT_EQ(core.stats().running, 2U);
  EXPECT_EQ(core.stats().waiting, 1U);
  EXPECT_EQ(token_times(core).size(), 3U);
  EXPECT_EQ(core.unfinished(), 0U);
}

TEST(EngineCore, an_aborted_sequence_samples_nothing_more_and_leaves_at_the_end_of_the_step) {
  EngineCore core(limits(), kSpeed);
  const SequenceId id = core.submit(request(50, 100), kStart);
  core.abort(id, kStart + milliseconds(1));
  EXPECT_EQ(core.unfinished(), 1U);
  EXPECT_TRUE(token_times(core).empty());
  EXPECT_EQ(core.unfinished(), 0U);
  EXPECT_EQ(core.stats().kv_usage, 0.0);
  EXPECT_EQ(core.stats().aborted, 1U);
}

TEST(EngineCore, an_abort_while_waiting_costs_nothing) {
  SchedulerLimits one = limits();
  one.max_running = 1;
  EngineCore core(one, kSpeed);
  core.submit(request(10, 2), kStart);
  const SequenceId waiting = core.submit(request(400, 2, 1000), kStart);
  core.abort(waiting, kStart);
  EXPECT_EQ(token_times(core).size(), 1U);
  EXPECT_EQ(core.stats().computed_prefill_tokens, 10U);
}

TEST(EngineCore, late_polls_do_not_stretch_the_schedule) {
  EngineCore core(limits(), kSpeed);
  core.submit(request(10, 4), kStart);
  const TimePoint late = kStart + milliseconds(1000);
  std::vector<TimePoint> ends;
  while (const auto result = core.poll(late)) {
    ends.push_back(result->at);
  }
  ASSERT_EQ(ends.size(), 4U);
  EXPECT_EQ(ends[3], kStart + milliseconds(40));
  EXPECT_FALSE(core.next_step_end());
}

TEST(EngineCore, the_context_length_ends_a_reply) {
  SchedulerLimits small = limits();
  small.blocks = 5;  // four usable blocks of ten
  EngineCore core(small, kSpeed);
  EXPECT_EQ(core.context_limit(), 40U);
  core.submit(request(30, 100), kStart);
  EXPECT_EQ(token_times(core).begin()->second.size(), 10U);
  EXPECT_EQ(core.stats().finished_length, 1U);
}

TEST(EngineCore, speed_zero_takes_no_time) {
  EngineCore core(limits(), EngineSpeed{0.0, 0.0});
  core.submit(request(250, 4), kStart);
  std::size_t steps = 0;
  while (core.poll(kStart)) {
    ++steps;
  }
  EXPECT_EQ(steps, 6U);  // three chunks, the third samples; then three decodes
  EXPECT_EQ(core.unfinished(), 0U);
}

}  // namespace
}  // namespace rolter::simulator
