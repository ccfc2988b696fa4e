#include "rolter/cluster/cluster_view.h"
#include "tests/unit/cluster/start.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <vector>

namespace rolter::cluster {
namespace {

using namespace std::chrono_literals;

/// A route of three targets at three replicas.
class EligibleTargets : public testing::Test {
 protected:
  EligibleTargets() {
    for (std::uint32_t i = 0; i < 3; ++i) {
      RouteTarget target;
      target.replica = std::make_shared<Replica>("gpu", ReplicaSlot{i});
      target.load = std::make_shared<TargetLoad>();
      route_.targets.push_back(std::move(target));
    }
  }

  Availability ask(std::vector<std::size_t> tried = {}) {
    const Availability availability = eligible_targets(route_, now_, tried, out_);
    picked_.clear();
    for (const Candidate& candidate : out_) {
      picked_.push_back(candidate.target);
    }
    return availability;
  }

  Replica& replica(std::size_t i) { return *route_.targets[i].replica; }
  void cool(std::size_t i) {
    (void)replica(i).attempt_ended(Report{.outcome = Outcome::kServerError}, TrialSlot::kNone, now_,
                                   now_);
  }
  void fill(std::size_t i) {
    route_.targets[i].cap = 1;
    route_.targets[i].load->in_flight = 1;
  }

  TimePoint now_ = kStart;
  RouteTargets route_;
  std::vector<Candidate> out_;
  std::vector<std::size_t> picked_;
};

using Targets = std::vector<std::size_t>;

TEST_F(EligibleTargets, all_are_offered_in_order_with_what_a_strategy_needs) {
  route_.targets[1].weight = 2.5;
  route_.slow_start = 60s;
  replica(1).starts_cold(kStart - 30s);
  replica(1).scraped({.running = 3.0, .waiting = 1.0, .kv_usage = {}}, 0, kStart);
  std::atomic<std::uint32_t> load{0};
  const Lease lease = Lease::acquire(replica(1), load, 0);
  EXPECT_EQ(ask(), Availability::kEligible);
  EXPECT_EQ(picked_, (Targets{0, 1, 2}));
  EXPECT_EQ(out_[1].replica, ReplicaSlot{1});
  EXPECT_EQ(out_[1].in_flight, 1U);
  EXPECT_EQ(out_[1].weight, 2.5);
  EXPECT_EQ(out_[1].queued, 5.0);
  EXPECT_EQ(out_[1].ramp, 0.5);
  EXPECT_EQ(out_[0].queued, std::nullopt);
}

TEST_F(EligibleTargets, the_cooling_the_drained_the_full_and_the_tried_are_left_out) {
  cool(0);
  EXPECT_EQ(ask(), Availability::kEligible);
  EXPECT_EQ(picked_, (Targets{1, 2}));
  EXPECT_EQ(ask({1}), Availability::kEligible);
  EXPECT_EQ(picked_, (Targets{2}));
  fill(2);
  EXPECT_EQ(ask(), Availability::kEligible);
  EXPECT_EQ(picked_, (Targets{1}));
  replica(1).set_drained(true, now_);
  now_ += 5s;
  EXPECT_EQ(ask(), Availability::kEligible);
  EXPECT_EQ(picked_, (Targets{0}));
}

TEST_F(EligibleTargets, a_tried_one_is_taken_again_only_when_no_other_is_eligible) {
  cool(2);
  EXPECT_EQ(ask({0}), Availability::kEligible);
  EXPECT_EQ(picked_, (Targets{1}));
  EXPECT_EQ(ask({0, 1}), Availability::kOnlyTried);
  EXPECT_EQ(picked_, (Targets{0, 1}));
}

TEST_F(EligibleTargets, when_none_is_eligible_all_but_the_drained_are_offered) {
  cool(0);
  cool(1);
  replica(2).set_drained(true, now_);
  EXPECT_EQ(ask(), Availability::kFailOpen);
  EXPECT_EQ(picked_, (Targets{0, 1}));
  EXPECT_EQ(ask({0}), Availability::kFailOpen);
  EXPECT_EQ(picked_, (Targets{1})) << "an untried one first";
  EXPECT_EQ(ask({0, 1}), Availability::kFailOpen);
  EXPECT_EQ(picked_, (Targets{0, 1}));
}

TEST_F(EligibleTargets, nothing_is_offered_when_all_are_drained) {
  for (std::size_t i = 0; i < 3; ++i) {
    replica(i).set_drained(true, now_);
  }
  EXPECT_EQ(ask(), Availability::kAllDrained);
  EXPECT_TRUE(picked_.empty());
}

TEST_F(EligibleTargets, a_route_without_targets_is_drained) {
  route_.targets.clear();
  EXPECT_EQ(ask(), Availability::kAllDrained);
}

TEST_F(EligibleTargets, waits_for_an_eligible_one_at_its_cap_rather_than_fail_open) {
  cool(0);
  cool(1);
  fill(2);
  EXPECT_EQ(ask(), Availability::kAllAtCap);
  EXPECT_TRUE(picked_.empty());
}

TEST_F(EligibleTargets, a_cap_holds_even_when_failing_open) {
  for (std::size_t i = 0; i < 3; ++i) {
    cool(i);
    fill(i);
  }
  EXPECT_EQ(ask(), Availability::kAllAtCap);
}

TEST_F(EligibleTargets, does_not_allocate_once_the_buffer_has_grown) {
  (void)ask();
  const Candidate* buffer = out_.data();
  const std::vector<std::size_t> tried{0, 1};
  (void)eligible_targets(route_, now_, tried, out_);
  (void)eligible_targets(route_, now_, {}, out_);
  EXPECT_EQ(out_.data(), buffer);
}

TEST_F(EligibleTargets, tells_why_one_is_left_out) {
  EXPECT_EQ(why_not(route_.targets[0], now_), WhyNot::kNone);
  fill(0);
  EXPECT_EQ(why_not(route_.targets[0], now_), WhyNot::kAtCap);
  cool(0);
  EXPECT_EQ(why_not(route_.targets[0], now_), WhyNot::kCooling);
}

}  // namespace
}  // namespace rolter::cluster
