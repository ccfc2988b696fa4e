// precise_cache_aware over simulated engines and their real event streams: what the gateway expects
// in an engine's cache against what the engine reports to have found there.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <future>
#include <optional>
#include <vector>

#include "tests/integration/balance/precise_fleet.h"

namespace rolter::runtime {
namespace {

using namespace std::chrono_literals;

class PreciseEndToEndTest : public PreciseFleetTest {};

TEST_F(PreciseEndToEndTest, engines_find_what_was_expected_also_after_the_gateway_restarts) {
  start_gateway();
  await_live();
  expect_as_expected(send(traffic_, 250));
  const double reported = metric_of_all(R"(rolter_cached_tokens_total{{route="m",target="{}/m"}})");
  EXPECT_NEAR(metric_of_all(R"(rolter_predicted_cached_tokens_total{{route="m",target="{}/m"}})"),
              reported, 0.03 * reported);

  gateway_.reset();
  for (std::size_t i = 0; i < 20; ++i) {  // meanwhile others talk to the engines
    const std::size_t engine = i % kEngines;
    const MixedRequest request = stranger(i);
    const auto answer = fakes::post_json(addresses_[engine].port, request.path, request.body);
    EXPECT_EQ(answer.status, 200);
    stored_[engine] += stored_blocks(answer);
  }
  const TimePoint started = now();
  start_gateway();
  await_live();
  EXPECT_LT(now() - started, 2s);
  const Tally after = send(traffic_, 250);
  expect_as_expected(after);
  EXPECT_GT(after.cached_tokens, 30'000U) << "hardly anything was found in a cache";
  EXPECT_GT(metric_of_all(R"(rolter_kv_events_total{{target="{}",kind="removed"}})"), 100.0)
      << "nothing had to leave a cache";
  expect_no_load();
}

TEST_F(PreciseEndToEndTest, an_engine_that_restarts_is_known_to_be_empty) {
  start_gateway();
  await_live();
  expect_as_expected(send(traffic_, 150));
  const std::size_t one = restart_busiest_engine();
  EXPECT_EQ(metric(fmt::format(R"(rolter_kv_blocks{{target="{}"}})", name(one))), 0.0);
  expect_as_expected(send(traffic_, 200));
  expect_no_load();
}

TEST_F(PreciseEndToEndTest,
       an_engine_whose_events_are_cut_off_is_given_no_credit_until_they_return) {
  start_gateway();
  await_live();
  expect_as_expected(send(traffic_, 150));
  relays_[3]->cut();
  await([this] { return state_of(3) == 4; });
  int at_the_blind_one = 0;
  Tally of_the_others;
  for (std::size_t i = 0; i < 240; ++i) {
    // Strangers come twice, and the second time the blind one may hold them.
    const Seen answer = i % 4 == 0 ? seen(ask(stranger(i / 8))) : send(traffic_);
    if (answer.provider == name(3)) {
      ++at_the_blind_one;
      EXPECT_EQ(answer.expected, std::nullopt);
      stored_[3] += answer.stored;
    } else {
      of_the_others.add(answer);
      await_told(answer);
    }
  }
  EXPECT_GT(at_the_blind_one, 0) << "it takes part all the same";
  expect_as_expected(of_the_others);
  relays_[3]->restore();
  await_told(3);
  await_live();
  expect_as_expected(send(traffic_, 150));
  expect_no_load();
}

TEST_F(PreciseEndToEndTest, callers_at_the_same_time_do_not_make_it_guess) {
  start_gateway();
  await_live();
  std::vector<MixedTraffic> callers{MixedTraffic(101), MixedTraffic(102), MixedTraffic(103)};
  Tally tally;
  for (int round = 0; round < 100; ++round) {
    std::vector<std::future<Seen>> answers;
    for (MixedTraffic& caller : callers) {
      answers.push_back(std::async(std::launch::async, [&] { return send(caller); }));
    }
    std::vector<Seen> round_of_answers;
    for (std::future<Seen>& answer : answers) {
      tally.add(answer.get());
      round_of_answers.push_back(tally.last);
    }
    for (const Seen& answer : round_of_answers) {
      await_told(answer);
    }
  }
  // Less than for one at a time: an engine that serves several evicts between the choice and its
  // own look, and knows the others' blocks before their events are here.
  EXPECT_GE(tally.share(), 0.95) << tally.surprises;
  expect_no_load();
}

}  // namespace
}  // namespace rolter::runtime
