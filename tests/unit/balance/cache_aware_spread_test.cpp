// How cache_aware uses a fleet: traffic that shares nothing, a little, or almost everything.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "rolter/balance/cache_aware.h"
#include "tests/unit/balance/fleet.h"

namespace rolter::balance {
namespace {

constexpr std::size_t kTargets = 4;
constexpr double kOneInAThousand = 16.27;  // chi-square, 3 degrees of freedom

class CacheAwareSpreadTest : public ::testing::Test {
 protected:
  CacheAware strategy_{CacheAwareSettings{},
                       RoutePrefixes(std::vector(kTargets, std::make_shared<kvcache::PrefixTree>(
                                                               kvcache::PrefixTreeLimits{})))};
  Fleet fleet_{strategy_, kTargets};
  Rng rng_{42};
};

TEST_F(CacheAwareSpreadTest, unrelated_prompts_one_at_a_time_use_idle_replicas_evenly) {
  std::vector<std::size_t> counts(kTargets);
  for (int i = 0; i < 400; ++i) {
    ++counts[fleet_.serve(random_text(rng_, 200 + uniform_index(rng_, 800)))];
  }
  EXPECT_LT(chi_square(counts), kOneInAThousand);
}

TEST_F(CacheAwareSpreadTest, prompts_that_share_a_quarter_use_idle_replicas_evenly) {
  const std::string system = random_text(rng_, 500);
  std::vector<std::size_t> counts(kTargets);
  for (int i = 0; i < 400; ++i) {
    ++counts[fleet_.serve(system + random_text(rng_, 1'500))];
  }
  EXPECT_LT(chi_square(counts), kOneInAThousand);
}

TEST_F(CacheAwareSpreadTest, first_turns_of_new_groups_spread) {
  std::vector<std::size_t> counts(kTargets);
  for (int group = 0; group < 40; ++group) {
    const std::string system = random_text(rng_, 1'000);
    const std::size_t home = fleet_.serve(system + "first");
    ++counts[home];
    EXPECT_EQ(fleet_.serve(system + "second"), home);
  }
  for (const std::size_t count : counts) {
    EXPECT_NEAR(static_cast<double>(count), 10.0, 3.0);
  }
}

TEST_F(CacheAwareSpreadTest, a_burst_with_one_system_prompt_spreads_and_its_follow_ups_stay_put) {
  const std::string system = random_text(rng_, 4'096);
  std::vector<std::string> conversations;
  std::vector<std::size_t> homes;
  std::vector<std::size_t> counts(kTargets);
  for (int i = 0; i < 200; ++i) {
    conversations.push_back(system + random_text(rng_, 200));
    homes.push_back(fleet_.send(conversations.back()));
    ++counts[homes.back()];
  }
  const double mean = 200.0 / kTargets;
  EXPECT_LE(static_cast<double>(*std::ranges::max_element(counts)) / mean, 1.3);

  fleet_.finish_all();
  // Second turns in another order, a few at a time, as users type.
  std::vector<std::size_t> under_way;
  for (std::size_t i = 0; i < conversations.size(); ++i) {
    const std::size_t n = i * 77 % conversations.size();
    const std::size_t target = fleet_.send(conversations[n] + "\xfa an answer\xf9 and then?");
    EXPECT_EQ(target, homes[n]) << "conversation " << n;
    under_way.push_back(target);
    if (under_way.size() == 3) {
      fleet_.finish(under_way.front());
      under_way.erase(under_way.begin());
    }
  }
}

TEST_F(CacheAwareSpreadTest, a_miss_does_not_join_the_busy_replica_with_the_smallest_tree) {
  // Replica 0 runs unique prompts; the others idle, one with a large shared prefix.
  for (int i = 0; i < 50; ++i) {
    fleet_.record(random_text(rng_, 10), 0);
  }
  fleet_.candidates().resize(2);
  fleet_.candidates()[0].in_flight = 50;
  fleet_.record(random_text(rng_, 100'000), 1);
  EXPECT_EQ(fleet_.pick(random_text(rng_, 100)).target, 1U);
}

TEST_F(CacheAwareSpreadTest, affinity_begins_with_the_first_request) {
  const std::string prompt = random_text(rng_, 4'096);
  const std::size_t home = fleet_.serve(prompt);
  for (int i = 0; i < 9; ++i) {
    EXPECT_EQ(fleet_.serve(prompt), home);
  }
}

}  // namespace
}  // namespace rolter::balance
