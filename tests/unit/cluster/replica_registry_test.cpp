#include "rolter/cluster/replica_registry.h"
#include "tests/unit/cluster/start.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace rolter::cluster {
namespace {

using namespace std::chrono_literals;

/// One route "m" over providers given as "name:port".
config::Config config_of(const std::vector<std::pair<std::string, int>>& providers) {
  config::Config config;
  config::Route& route = config.routes.emplace_back();
  route.model = "m";
  for (std::size_t i = 0; i < providers.size(); ++i) {
    config::Provider& provider = config.providers.emplace_back();
    provider.name = providers[i].first;
    provider.api_base.host = "127.0.0.1";
    provider.api_base.port = static_cast<std::uint16_t>(providers[i].second);
    route.targets.push_back({.provider = i, .model = "llama", .weight = 1.0, .max_in_flight = 7});
  }
  return config;
}

TEST(ReplicaRegistry, makes_a_view_that_follows_the_configuration) {
  ReplicaRegistry registry;
  const auto applied = registry.apply(config_of({{"a", 1}, {"b", 2}}), kStart);
  ASSERT_EQ(applied.view->replicas.size(), 2U);
  ASSERT_EQ(applied.view->routes.size(), 1U);
  const RouteTarget& target = applied.view->routes[0].targets[1];
  EXPECT_EQ(target.replica, applied.view->replicas[1]);
  EXPECT_EQ(target.label, "b/llama");
  EXPECT_EQ(target.model, "llama");
  EXPECT_EQ(target.cap, 7U);
  EXPECT_TRUE(applied.removed.empty());
}

TEST(ReplicaRegistry, what_stays_keeps_its_state_and_its_load) {
  ReplicaRegistry registry;
  const auto first = registry.apply(config_of({{"a", 1}, {"b", 2}}), kStart);
  const auto second = registry.apply(config_of({{"b", 2}, {"c", 3}}), kStart);
  EXPECT_EQ(first.view->replicas[1], second.view->replicas[0]);
  EXPECT_EQ(first.view->routes[0].targets[1].load, second.view->routes[0].targets[0].load);
  ASSERT_EQ(second.removed.size(), 1U);
  EXPECT_EQ(second.removed[0], first.view->replicas[0]->slot());
}

TEST(ReplicaRegistry, another_address_is_another_replica) {
  ReplicaRegistry registry;
  const auto first = registry.apply(config_of({{"a", 1}}), kStart);
  const auto second = registry.apply(config_of({{"a", 9}}), kStart);
  EXPECT_NE(first.view->replicas[0], second.view->replicas[0]);
  EXPECT_EQ(second.removed.size(), 1U);
}

TEST(ReplicaRegistry, another_name_at_the_same_address_is_another_replica) {
  ReplicaRegistry registry;
  const auto first = registry.apply(config_of({{"a", 1}}), kStart);
  const auto second = registry.apply(config_of({{"b", 1}}), kStart);
  EXPECT_NE(first.view->replicas[0], second.view->replicas[0]);
}

TEST(ReplicaRegistry, one_that_joins_later_starts_cold_and_the_first_ones_do_not) {
  ReplicaRegistry registry;
  (void)registry.apply(config_of({{"a", 1}}), kStart);
  const auto applied = registry.apply(config_of({{"a", 1}, {"b", 2}}), kStart);
  EXPECT_EQ(applied.view->replicas[0]->ramp(kStart, 60s), 1.0);
  EXPECT_LT(applied.view->replicas[1]->ramp(kStart, 60s), 0.1);
}

TEST(ReplicaRegistry, a_slot_is_reused_only_after_release_and_its_last_holder) {
  ReplicaRegistry registry;
  auto first = registry.apply(config_of({{"a", 1}}), kStart);
  const ReplicaSlot old = first.view->replicas[0]->slot();
  const auto slot_of_new = [&](const char* name) {
    return registry.apply(config_of({{name, 1}}), kStart).view->replicas[0]->slot();
  };
  EXPECT_NE(slot_of_new("b"), old) << "not released";
  registry.release(old);
  EXPECT_NE(slot_of_new("c"), old) << "a request still holds the old view";
  first.view.reset();
  EXPECT_EQ(slot_of_new("d"), old);
}

TEST(ReplicaRegistry, releasing_a_slot_in_use_does_nothing) {
  ReplicaRegistry registry;
  const auto first = registry.apply(config_of({{"a", 1}}), kStart);
  registry.release(first.view->replicas[0]->slot());
  const auto second = registry.apply(config_of({{"a", 1}, {"b", 2}}), kStart);
  EXPECT_NE(second.view->replicas[0]->slot(), second.view->replicas[1]->slot());
}

TEST(ReplicaRegistry, thousands_of_replicas_that_come_and_go_need_no_more_slots) {
  ReplicaRegistry registry;
  std::uint32_t highest = 0;
  for (int i = 0; i < 3000; ++i) {
    const auto applied =
        registry.apply(config_of({{"a", 1}, {"p" + std::to_string(i), 2}}), kStart);
    for (const ReplicaSlot slot : applied.removed) {
      registry.release(slot);
    }
    for (const auto& replica : applied.view->replicas) {
      highest = std::max(highest, to_index(replica->slot()));
    }
  }
  EXPECT_LE(highest, 3U);
}

TEST(ReplicaRegistry, a_drain_survives_reloads_and_even_a_change_of_address) {
  ReplicaRegistry registry;
  (void)registry.apply(config_of({{"a", 1}, {"b", 2}}), kStart);
  EXPECT_TRUE(registry.set_drained("a", true, kStart));
  EXPECT_TRUE(registry.apply(config_of({{"a", 1}}), kStart).view->replicas[0]->drained());
  EXPECT_TRUE(registry.apply(config_of({{"a", 9}}), kStart).view->replicas[0]->drained());
  EXPECT_TRUE(registry.set_drained("a", false, kStart));
  EXPECT_FALSE(registry.apply(config_of({{"a", 9}}), kStart).view->replicas[0]->drained());
  EXPECT_FALSE(registry.set_drained("nobody", true, kStart));
}

TEST(ReplicaRegistry, a_reload_changes_the_settings_of_what_stays) {
  ReplicaRegistry registry;
  (void)registry.apply(config_of({{"a", 1}}), kStart);
  config::Config changed = config_of({{"a", 1}});
  changed.cooldown.base = 42s;
  const auto applied = registry.apply(changed, kStart);
  EXPECT_EQ(
      applied.view->replicas[0]
          ->attempt_ended(Report{.outcome = Outcome::kReset}, TrialSlot::kNone, kStart, kStart)
          .cooled_for,
      Duration{42s});
}

}  // namespace
}  // namespace rolter::cluster
