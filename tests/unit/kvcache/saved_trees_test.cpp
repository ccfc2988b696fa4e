#include "rolter/kvcache/saved_trees.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rolter/base/random.h"
#include "rolter/kvcache/prompt_walk.h"

namespace rolter::kvcache {
namespace {

using testing::HasSubstr;

constexpr ReplicaSlot kA{0};
constexpr ReplicaSlot kB{5};

std::vector<SavedReplica> replicas(ReplicaSlot a = kA, ReplicaSlot b = kB) {
  return {{.identity = "a h:1", .slot = a, .started_at = 7.5},
          {.identity = "b h:2", .slot = b, .started_at = 0.0}};
}

std::unique_ptr<PrefixTrees> trees_for(const std::string& model, PrefixTreeLimits limits = {}) {
  auto trees = std::make_unique<PrefixTrees>();
  const PrefixTrees::Demand demand{.model = model, .limits = limits};
  trees->apply({&demand, 1});
  return trees;
}

std::string saved(const PrefixTrees& trees) {
  std::string file = index_file_head();
  std::uint64_t count = 0;
  EXPECT_TRUE(save_trees(trees, replicas(), [&](RecordTag tag, std::string_view payload) {
    file += index_record(tag, payload);
    ++count;
    return true;
  }));
  return file + index_file_end(count);
}

LoadedTrees load(std::string_view file, const PrefixTrees& trees,
                 const std::vector<SavedReplica>& into = replicas()) {
  const auto records = read_index_file(file);
  EXPECT_TRUE(records) << records.error().message;
  const auto loaded = load_trees(*records, trees, into, [](const SavedReplica&, double) {});
  EXPECT_TRUE(loaded);
  return *loaded;
}

std::size_t matched(PrefixTree& tree, std::string_view text, ReplicaSlot replica,
                    std::uint64_t root = 1) {
  std::size_t bytes = 0;
  tree.match(root, text, {&replica, 1}, {&bytes, 1});
  return bytes;
}

TEST(SavedTrees, come_back_with_what_each_replica_was_sent) {
  const auto trees = trees_for("m");
  PrefixTree& tree = *trees->find("m");
  const std::string shared(200'000, 's');
  (void)tree.insert(1, shared + "one", kA);
  (void)tree.insert(1, shared + "two", kB);
  (void)tree.insert(1, shared, kB);
  (void)tree.insert(2, "another root", kA);
  tree.believe(kB, 1'000'000);
  const std::string file = saved(*trees);
  EXPECT_LT(file.size(), 201'000U) << "what prompts share is there once";

  const auto again = trees_for("m");
  EXPECT_EQ(load(file, *again, replicas(ReplicaSlot{9}, ReplicaSlot{1})).prompts, 4U);
  PrefixTree& loaded = *again->find("m");
  EXPECT_EQ(matched(loaded, shared + "one", ReplicaSlot{9}), 200'003U);
  EXPECT_EQ(matched(loaded, shared + "two", ReplicaSlot{9}), 200'000U);
  EXPECT_EQ(matched(loaded, shared + "two", ReplicaSlot{1}), 200'003U);
  EXPECT_EQ(matched(loaded, "another root", ReplicaSlot{9}, 2), 12U);
  EXPECT_EQ(loaded.learned_bytes(ReplicaSlot{1}), 1'000'000U);
  EXPECT_EQ(loaded.stats().prompts, tree.stats().prompts);
  EXPECT_EQ(loaded.stats().nodes, tree.stats().nodes);
}

TEST(SavedTrees, keep_their_order_of_age) {
  const auto trees = trees_for("m");
  PrefixTree& tree = *trees->find("m");
  for (const char name : {'a', 'b', 'c'}) {
    (void)tree.insert(1, std::string(100, name), kA);
  }
  (void)tree.insert(1, std::string(100, 'a'), kA);  // the youngest again
  const auto again = trees_for("m");
  load(saved(*trees), *again);
  PrefixTree& loaded = *again->find("m");
  loaded.believe(kA, 200);
  EXPECT_EQ(matched(loaded, std::string(100, 'a'), kA), 100U);
  EXPECT_EQ(matched(loaded, std::string(100, 'b'), kA), 0U);
}

TEST(SavedTrees, any_tree_comes_back_as_it_was) {
  Rng rng(4);
  for (int round = 0; round < 20; ++round) {
    const auto trees = trees_for("m", {.max_nodes_per_replica = 300, .max_index_bytes = 100'000});
    PrefixTree& tree = *trees->find("m");
    for (int i = 0; i < 400; ++i) {
      std::string text;
      for (std::size_t n = 1 + uniform_index(rng, 30); n > 0; --n) {
        text.append(10, static_cast<char>('a' + uniform_index(rng, 3)));
      }
      (void)tree.insert(uniform_index(rng, 2), text, uniform_index(rng, 2) == 0 ? kA : kB);
    }
    const std::string file = saved(*trees);
    const auto again = trees_for("m", {.max_nodes_per_replica = 300, .max_index_bytes = 100'000});
    load(file, *again);
    EXPECT_EQ(saved(*again), file);
    EXPECT_EQ(again->find("m")->stats().nodes, tree.stats().nodes);
  }
}

TEST(SavedTrees, replicas_and_models_that_are_gone_leave_the_others_whole) {
  const auto trees = trees_for("m");
  PrefixTree& tree = *trees->find("m");
  (void)tree.insert(1, std::string(100, 'x'), kA);
  (void)tree.insert(1, std::string(100, 'x') + "more", kB);
  const std::string file = saved(*trees);
  const auto again = trees_for("m");
  const LoadedTrees loaded =
      load(file, *again, {{.identity = "b h:2", .slot = kA, .started_at = 0.0}});
  EXPECT_EQ(loaded.prompts, 1U);
  EXPECT_EQ(loaded.strange, 1U);
  EXPECT_EQ(matched(*again->find("m"), std::string(100, 'x') + "more", kA), 104U);
  EXPECT_EQ(load(file, *trees_for("another")).strange, 2U);
}

TEST(SavedTrees, tell_since_when_a_replica_has_run) {
  const auto trees = trees_for("m");
  const std::string file = saved(*trees);
  const auto records = read_index_file(file);
  std::vector<std::pair<std::string, double>> told;
  ASSERT_TRUE(
      load_trees(*records, *trees, replicas(), [&](const SavedReplica& replica, double started_at) {
        told.emplace_back(replica.identity, started_at);
      }));
  EXPECT_EQ(told, (std::vector<std::pair<std::string, double>>{{"a h:1", 7.5}, {"b h:2", 0.0}}));
}

TEST(SavedTrees, a_walk_goes_on_over_changes) {
  PrefixTree tree{PrefixTreeLimits{}};
  std::vector<PrefixTree::Ticket> tickets;
  for (int i = 0; i < 1'000; ++i) {
    tickets.push_back(tree.insert(1, std::to_string(100'000 + i) + std::string(500, 'x'), kA));
  }
  PromptWalk walk(tree);
  std::vector<WalkedPrompt> batch;
  std::size_t seen = 0;
  for (walk.next(batch); !batch.empty(); walk.next(batch)) {
    seen += batch.size();
    for (std::size_t i = seen; i < std::min(seen + 10, tickets.size()); ++i) {
      tree.undo(tickets[i]);  // the next ones, with the one the walk stands at
    }
    (void)tree.insert(1, "new " + std::to_string(seen), kA);
  }
  EXPECT_GT(seen, 500U);
  EXPECT_LE(seen, 1'100U);
}

std::string fault_of(std::string_view file) {
  const auto records = read_index_file(file);
  return records ? "" : records.error().message;
}

TEST(IndexFile, what_is_damaged_is_not_read) {
  const auto trees = trees_for("m");
  (void)trees->find("m")->insert(1, "a prompt", kA);
  const std::string file = saved(*trees);
  EXPECT_EQ(fault_of(file), "");
  for (std::size_t at = 0; at < file.size(); ++at) {
    std::string flipped = file;
    flipped[at] = static_cast<char>(flipped[at] ^ 1);
    EXPECT_NE(fault_of(flipped), "") << "byte " << at;
    EXPECT_NE(fault_of(file.substr(0, at)), "") << "first " << at << " bytes";
  }
  EXPECT_NE(fault_of(file + "x"), "");
  EXPECT_THAT(fault_of("something else"), HasSubstr("no index"));
  std::string other_version = file;
  other_version[8] = 9;
  EXPECT_THAT(fault_of(other_version), HasSubstr("version 9"));
}

TEST(IndexFile, parts_that_are_not_known_are_passed_over) {
  const auto trees = trees_for("m");
  (void)trees->find("m")->insert(1, "a prompt", kA);
  std::string file = index_file_head() + index_record(RecordTag{0x1234}, "of a later version");
  std::uint64_t count = 1;
  EXPECT_TRUE(save_trees(*trees, replicas(), [&](RecordTag tag, std::string_view payload) {
    file += index_record(tag, payload);
    ++count;
    return true;
  }));
  file += index_file_end(count);
  EXPECT_EQ(load(file, *trees_for("m")).prompts, 1U);
}

TEST(IndexFile, records_that_contradict_themselves_change_nothing) {
  RecordWriter tree;
  tree.text("m");
  tree.number32(1);
  tree.text("a h:1");
  tree.number64(0);
  tree.number64(0);
  RecordWriter prompt;  // builds on one that is not there
  prompt.number32(0);
  prompt.number64(1);
  prompt.number32(7);
  prompt.number32(3);
  prompt.text("x");
  const std::vector<IndexRecord> records{{RecordTag::kTree, tree.bytes()},
                                         {RecordTag::kPrompts, prompt.bytes()}};
  const auto trees = trees_for("m");
  EXPECT_FALSE(load_trees(records, *trees, replicas(), [](const SavedReplica&, double) {}));
  EXPECT_EQ(trees->find("m")->stats().prompts, 0U);
}

}  // namespace
}  // namespace rolter::kvcache
