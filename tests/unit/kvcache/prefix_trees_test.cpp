#include "rolter/kvcache/prefix_trees.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace rolter::kvcache {
namespace {

using Demands = std::vector<PrefixTrees::Demand>;

constexpr ReplicaSlot kReplica{0};

TEST(PrefixTrees, a_tree_survives_reloads_that_still_ask_for_it) {
  PrefixTrees trees;
  trees.apply(Demands{{"m", {}}});
  const std::shared_ptr<PrefixTree> tree = trees.find("m");
  ASSERT_NE(tree, nullptr);
  trees.apply(Demands{{"other", {}}, {"m", {}}});
  EXPECT_EQ(trees.find("m"), tree);
}

TEST(PrefixTrees, a_tree_that_nobody_asks_for_goes_with_its_last_user) {
  PrefixTrees trees;
  trees.apply(Demands{{"m", {}}});
  std::weak_ptr<PrefixTree> tree = trees.find("m");
  {
    const std::shared_ptr<PrefixTree> in_use = tree.lock();
    trees.apply(Demands{});
    EXPECT_EQ(trees.find("m"), nullptr);
    EXPECT_FALSE(tree.expired());
  }
  EXPECT_TRUE(tree.expired());
}

TEST(PrefixTrees, the_most_generous_of_the_demanded_limits_holds) {
  PrefixTrees trees;
  trees.apply(Demands{{"m", {2, 0}}, {"m", {5, 1'000'000}}, {"m", {3, 1'000'000}}});
  const std::shared_ptr<PrefixTree> tree = trees.find("m");
  for (char c = 'a'; c <= 'z'; ++c) {
    (void)tree->insert(1, std::string(1, c), kReplica);
  }
  EXPECT_EQ(tree->held_nodes(kReplica), 5U);
}

TEST(PrefixTrees, a_reload_with_lower_limits_prunes_at_once) {
  PrefixTrees trees;
  trees.apply(Demands{{"m", {}}});
  for (char c = 'a'; c <= 'z'; ++c) {
    (void)trees.find("m")->insert(1, std::string(1, c), kReplica);
  }
  trees.apply(Demands{{"m", {4, 0}}});
  EXPECT_EQ(trees.find("m")->held_nodes(kReplica), 4U);
}

TEST(PrefixTrees, a_replica_is_forgotten_in_every_tree) {
  PrefixTrees trees;
  trees.apply(Demands{{"m", {}}, {"n", {}}});
  (void)trees.find("m")->insert(1, "x", kReplica);
  (void)trees.find("n")->insert(1, "x", kReplica);
  trees.remove_replica(kReplica);
  for (const PrefixTrees::Named& named : trees.stats()) {
    EXPECT_EQ(named.stats.prompts, 0U) << named.model;
  }
}

}  // namespace
}  // namespace rolter::kvcache
