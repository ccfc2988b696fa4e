#include "rolter/simulator/replay/virtual_fleet.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace rolter::simulator::replay {
namespace {

/// Sends everything to one replica and notes what it is told.
class ToOne final : public Policy {
 public:
  std::optional<Choice> choose(const Arrival& arrival, std::span<const VirtualEngine> engines,
                               Rng& /*rng*/) override {
    expected.push_back(engines[0].expected_blocks(arrival.call.blocks));
    queues_s.push_back(std::chrono::duration<double>(engines[0].queue_time(arrival.now)).count());
    return Choice{0, expected.back()};
  }
  void first_token(const Answer& answer) override { cached.push_back(answer.cached_tokens); }

  std::vector<std::size_t> expected;
  std::vector<double> queues_s;
  std::vector<std::size_t> cached;
};

TraceChain call(double at, std::size_t tokens, std::vector<std::uint32_t> blocks) {
  return {.start_s = at,
          .calls = {{.delay_s = 0.0,
                     .input_tokens = tokens,
                     .output_tokens = 40,
                     .blocks = std::move(blocks)}}};
}

FleetShape one_replica() {
  return {.replicas = 1, .engine = {.blocks = 100, .prefill_tps = 1'000.0}};
}

TEST(VirtualFleet, prompts_wait_their_turn_and_compute_what_is_not_cached) {
  const Workload workload =
      make_workload({{call(0.0, 1'024, {0, 1}), call(0.1, 1'536, {0, 1, 2}), call(0.2, 512, {3})}});
  ToOne policy;
  const Outcome outcome = play(workload, one_replica(), {}, policy);
  ASSERT_EQ(outcome.ttft_s.size(), 3U);
  // 1,024 tokens: 20 ms + 1.024 s. The second waits for it and finds two blocks: 20 ms + 0.512 s.
  EXPECT_NEAR(outcome.ttft_s[0], 1.044, 1e-6);
  EXPECT_NEAR(outcome.ttft_s[1], 1.044 + 0.532 - 0.1, 1e-6);
  EXPECT_NEAR(outcome.ttft_s[2], 1.044 + 0.532 + 0.532 - 0.2, 1e-6);
  EXPECT_EQ(outcome.hit_tokens, 1'024U);
  EXPECT_EQ(outcome.prompt_tokens, 3'072U);
  EXPECT_EQ(policy.cached, (std::vector<std::size_t>{0, 1'024, 0}));
  EXPECT_NEAR(outcome.seconds, 2.108 + 1.0, 1e-6) << "40 tokens at 25 ms after the last prefill";
}

TEST(VirtualFleet, the_queue_is_what_is_left_of_the_prefills) {
  const Workload workload =
      make_workload({{call(0.0, 512, {0}), call(0.1, 512, {1}), call(0.2, 512, {2})}});
  ToOne policy;
  (void)play(workload, one_replica(), {}, policy);
  ASSERT_EQ(policy.queues_s.size(), 3U);
  EXPECT_NEAR(policy.queues_s[0], 0.0, 1e-6);
  EXPECT_NEAR(policy.queues_s[1], 0.532 - 0.1, 1e-6);
  EXPECT_NEAR(policy.queues_s[2], 0.532 - 0.2 + 0.532, 1e-6);
}

TEST(VirtualFleet, a_prompt_that_waits_counts_as_resident_to_be) {
  const Workload workload =
      make_workload({{call(0.0, 512, {0}), call(0.1, 1'024, {1, 2}), call(0.2, 1'536, {1, 2, 3})}});
  ToOne policy;
  const Outcome outcome = play(workload, one_replica(), {}, policy);
  EXPECT_EQ(policy.expected, (std::vector<std::size_t>{0, 0, 2}));
  EXPECT_EQ(outcome.forecast.precision(), 1.0);
  EXPECT_EQ(outcome.forecast.recall(), 1.0);
}

TEST(VirtualFleet, a_whole_prompt_that_is_cached_computes_its_last_token) {
  const Workload workload = make_workload({{call(0.0, 1'024, {0, 1}), call(5.0, 1'024, {0, 1})}});
  ToOne policy;
  const Outcome outcome = play(workload, one_replica(), {}, policy);
  EXPECT_EQ(outcome.hit_tokens, 1'023U);
  EXPECT_NEAR(outcome.ttft_s[0], 0.021, 1e-6);
}

TEST(VirtualFleet, what_comes_before_the_fleet_has_settled_can_be_left_out) {
  // Two blocks fit: the third prompt is the first for which one has to leave.
  const Workload workload =
      make_workload({{call(0.0, 512, {0}), call(5.0, 512, {1}), call(10.0, 512, {2}),
                      call(15.0, 512, {3}), call(20.0, 512, {3}), call(25.0, 512, {3})}});
  FleetShape shape = one_replica();
  shape.engine.blocks = 2;
  ToOne policy;
  EXPECT_EQ(play(workload, shape, {}, policy).prompt_tokens, 6U * 512);
  EXPECT_EQ(play(workload, shape, {.settles_after = 0}, policy).prompt_tokens, 4U * 512);
  const Outcome settled = play(workload, shape, {.settles_after = 2}, policy);
  EXPECT_EQ(settled.prompt_tokens, 2U * 512);
  EXPECT_EQ(settled.hit_tokens, 2U * 511);
  EXPECT_EQ(settled.ttft_s.size(), 2U);
  EXPECT_EQ(settled.replicas.size(), 1U);
  EXPECT_EQ(play(workload, shape, {.settles_after = 4}, policy).prompt_tokens, 0U) << "never";
}

TEST(VirtualFleet, a_conversation_waits_for_its_answers_and_thinks) {
  TraceChain chain = call(1.0, 1'000, {0, 1});
  chain.calls.push_back(
      {.delay_s = 10.0, .input_tokens = 1'000, .output_tokens = 0, .blocks = {2}});
  const Workload workload = make_workload({{chain}});
  ToOne policy;
  const Outcome outcome = play(workload, one_replica(), {.load = 2.0}, policy);
  // Starts are compressed, think times are not: 1.02 s, 40 tokens, 10 s, 1.02 s.
  EXPECT_NEAR(outcome.seconds, 1.02 + 1.0 + 10.0 + 1.02, 1e-6);
  EXPECT_EQ(outcome.requests, 2U);
}

TEST(VirtualFleet, a_refused_request_is_counted_and_its_conversation_goes_on) {
  class Refuses final : public Policy {
   public:
    std::optional<Choice> choose(const Arrival& arrival, std::span<const VirtualEngine> /*engines*/,
                                 Rng& /*rng*/) override {
      return arrival.request == 0 ? std::nullopt : std::optional(Choice{0, {}});
    }
  };
  TraceChain chain = call(0.0, 100, {0});
  chain.calls.push_back({.delay_s = 1.0, .input_tokens = 100, .output_tokens = 1, .blocks = {0}});
  const Workload workload = make_workload({{chain}});
  Refuses policy;
  const Outcome outcome = play(workload, one_replica(), {}, policy);
  EXPECT_EQ(outcome.refused, 1U);
  EXPECT_EQ(outcome.requests, 1U);
  EXPECT_EQ(outcome.forecast.precision(), std::nullopt);
}

TEST(Workload, traces_played_together_share_no_block) {
  const Workload workload =
      make_workload({{call(0.0, 1'024, {0, 1})}, {call(1.0, 512, {0}), call(0.5, 512, {3})}});
  EXPECT_EQ(workload.known_blocks, 6U);
  EXPECT_EQ(workload.requests, 3U);
  ASSERT_EQ(workload.chains.size(), 3U);
  EXPECT_EQ(workload.chains[1].calls[0].blocks, (std::vector<std::uint32_t>{5}));
  EXPECT_EQ(workload.chains[2].calls[0].blocks, (std::vector<std::uint32_t>{2}));
}

}  // namespace
}  // namespace rolter::simulator::replay
