#include "rolter/kvcache/prefix_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "rolter/base/random.h"

namespace rolter::kvcache {
namespace {

constexpr ReplicaSlot kA{0};
constexpr ReplicaSlot kB{1};
constexpr PrefixTreeLimits kRoomy{};

std::size_t match_one(const PrefixTree& tree, std::uint64_t root, std::string_view text,
                      ReplicaSlot replica) {
  std::size_t matched = 99;
  tree.match(root, text, {&replica, 1}, {&matched, 1});
  return matched;
}

void expect_empty(const PrefixTree& tree) {
  const PrefixTreeStats stats = tree.stats();
  EXPECT_EQ(stats.nodes, 0U);
  EXPECT_EQ(stats.roots, 0U);
  EXPECT_EQ(stats.marks, 0U);
  EXPECT_EQ(stats.prompts, 0U);
  EXPECT_EQ(stats.text_bytes, 0U);
  EXPECT_EQ(stats.index_bytes, 0U);
}

TEST(PrefixTree, an_empty_tree_matches_nothing) {
  const PrefixTree tree(kRoomy);
  EXPECT_EQ(match_one(tree, 1, "anything", kA), 0U);
  EXPECT_EQ(tree.held_bytes(kA), 0U);
  expect_empty(tree);
}

TEST(PrefixTree, an_empty_text_records_and_matches_nothing) {
  PrefixTree tree(kRoomy);
  EXPECT_EQ(tree.insert(1, "", kA), PrefixTree::Ticket::kNone);
  expect_empty(tree);
  (void)tree.insert(1, "x", kA);
  EXPECT_EQ(match_one(tree, 1, "", kA), 0U);
}

TEST(PrefixTree, matches_the_bytes_shared_with_any_live_prompt_of_the_replica) {
  PrefixTree tree(kRoomy);
  (void)tree.insert(1, "system: be brief. hello", kA);
  (void)tree.insert(1, "system: be polite", kB);
  EXPECT_EQ(match_one(tree, 1, "system: be brief. bye", kA), 18U);
  EXPECT_EQ(match_one(tree, 1, "system: be brief. bye", kB), 11U);
  EXPECT_EQ(match_one(tree, 1, "System", kA), 0U);
}

TEST(PrefixTree, roots_share_nothing) {
  PrefixTree tree(kRoomy);
  (void)tree.insert(1, "same text", kA);
  EXPECT_EQ(match_one(tree, 2, "same text", kA), 0U);
  EXPECT_EQ(match_one(tree, 0, "same text", kA), 0U);
  EXPECT_EQ(match_one(tree, 1, "same text", kA), 9U);
}

TEST(PrefixTree, a_replica_listed_twice_gets_its_length_twice) {
  PrefixTree tree(kRoomy);
  (void)tree.insert(1, "abc", kA);
  const std::array replicas{kA, kB, kA};
  std::array<std::size_t, 3> matched{};
  tree.match(1, "abcd", replicas, matched);
  EXPECT_EQ(matched, (std::array<std::size_t, 3>{3, 0, 3}));
}

TEST(PrefixTree, undoing_the_only_insertion_leaves_no_trace) {
  PrefixTree tree(kRoomy);
  tree.undo(tree.insert(1, "never served", kA));
  expect_empty(tree);
}

TEST(PrefixTree, undoing_keeps_a_prompt_that_was_known_already) {
  PrefixTree tree(kRoomy);
  (void)tree.insert(1, "served", kA);
  tree.undo(tree.insert(1, "served", kA));
  EXPECT_EQ(match_one(tree, 1, "served", kA), 6U);
}

TEST(PrefixTree, a_prompt_that_failed_for_every_request_disappears_in_any_order) {
  PrefixTree tree(kRoomy);
  const auto first = tree.insert(1, "burst", kA);
  const auto second = tree.insert(1, "burst", kA);
  tree.undo(first);
  EXPECT_EQ(match_one(tree, 1, "burst", kA), 5U);
  tree.undo(second);
  expect_empty(tree);
}

TEST(PrefixTree, a_prompt_extended_by_its_answer_is_matched_as_far_and_no_further) {
  for (const std::size_t max_edge : {std::size_t{3}, PrefixTree::kMaxEdgeBytes}) {
    PrefixTree tree(kRoomy, max_edge);
    const PrefixTree::Ticket ticket = tree.insert(7, "a question", kA);
    (void)tree.insert(7, "a question", kB);
    (void)tree.insert(7, "a quest", kA);  // splits the edge that leads to it
    tree.extend(ticket, " and an answer");
    EXPECT_EQ(match_one(tree, 7, "a question and an answer and more", kA), 24U);
    EXPECT_EQ(match_one(tree, 7, "a question and an answer and more", kB), 10U);
    EXPECT_EQ(tree.stats().prompts, 4U);
    tree.extend(ticket, "");
    EXPECT_EQ(tree.stats().prompts, 4U);
  }
}

TEST(PrefixTree, a_prompt_that_is_gone_is_not_extended) {
  PrefixTree tree(kRoomy);
  const PrefixTree::Ticket ticket = tree.insert(7, "a question", kA);
  tree.undo(ticket);
  tree.extend(ticket, " and an answer");
  tree.extend(PrefixTree::Ticket::kNone, "x");
  expect_empty(tree);
}

TEST(PrefixTree, a_ticket_of_an_evicted_prompt_does_not_touch_its_successor) {
  PrefixTree tree({.max_nodes_per_replica = 1, .max_index_bytes = 0});
  const auto evicted = tree.insert(1, "old", kA);
  (void)tree.insert(1, "new", kA);  // takes the cell of the old one
  (void)tree.insert(1, "old", kA);
  tree.undo(evicted);
  EXPECT_EQ(match_one(tree, 1, "old", kA), 3U);
}

TEST(PrefixTree, inserting_again_makes_a_prompt_the_youngest) {
  PrefixTree tree({.max_nodes_per_replica = 2, .max_index_bytes = 0});
  (void)tree.insert(1, "one", kA);
  (void)tree.insert(1, "two", kA);
  // "two" and "three" would share "t"; so "one" is renewed and "two" goes.
  (void)tree.insert(1, "one", kA);
  (void)tree.insert(1, "three", kA);
  EXPECT_EQ(match_one(tree, 1, "one", kA), 3U);
  EXPECT_EQ(match_one(tree, 1, "two", kA), 1U);
  EXPECT_EQ(tree.stats().evicted_prompts, 1U);
}

TEST(PrefixTree, matching_does_not_renew) {
  PrefixTree tree({.max_nodes_per_replica = 2, .max_index_bytes = 0});
  (void)tree.insert(1, "one", kA);
  (void)tree.insert(1, "two", kA);
  EXPECT_EQ(match_one(tree, 1, "one", kA), 3U);
  (void)tree.insert(1, "six", kA);
  EXPECT_EQ(match_one(tree, 1, "one", kA), 0U);
}

TEST(PrefixTree, a_shared_prefix_survives_the_eviction_of_one_prompt) {
  PrefixTree tree({.max_nodes_per_replica = 3, .max_index_bytes = 0});
  (void)tree.insert(1, "system-a", kA);
  (void)tree.insert(1, "system-b", kA);
  (void)tree.insert(1, "system-c", kA);
  EXPECT_EQ(match_one(tree, 1, "system-a", kA), 7U);
  EXPECT_EQ(match_one(tree, 1, "system-b", kA), 8U);
  EXPECT_EQ(tree.held_nodes(kA), 3U);
}

TEST(PrefixTree, a_split_by_one_replica_prunes_another_that_it_lifts_over_the_ceiling) {
  PrefixTree tree({.max_nodes_per_replica = 2, .max_index_bytes = 0});
  (void)tree.insert(1, "aaaa", kA);
  (void)tree.insert(1, "bbbb", kA);
  (void)tree.insert(1, "bbxx", kB);  // splits "bbbb": three nodes for kA
  EXPECT_EQ(match_one(tree, 1, "aaaa", kA), 0U);
  EXPECT_EQ(match_one(tree, 1, "bbbb", kA), 4U);
  EXPECT_EQ(tree.held_nodes(kA), 2U);
}

TEST(PrefixTree, chains_that_no_longer_branch_are_merged) {
  PrefixTree tree(kRoomy);
  (void)tree.insert(1, "turn one, turn two", kA);
  const PrefixTreeStats before = tree.stats();
  const auto branch = tree.insert(1, "turn one, other", kA);
  const auto inner = tree.insert(1, "turn", kB);
  EXPECT_EQ(tree.stats().nodes, 4U);
  tree.undo(branch);
  tree.undo(inner);
  EXPECT_EQ(tree.stats().nodes, before.nodes);
  EXPECT_EQ(tree.stats().index_bytes, before.index_bytes);
}

TEST(PrefixTree, the_byte_ceiling_evicts_the_oldest_prompt_of_any_replica) {
  PrefixTree tree({.max_nodes_per_replica = 0, .max_index_bytes = 3'000});
  (void)tree.insert(1, std::string(1'000, 'a'), kA);
  (void)tree.insert(1, std::string(1'000, 'b'), kB);
  (void)tree.insert(1, std::string(1'000, 'c'), kB);
  EXPECT_EQ(tree.held_bytes(kA), 0U);
  EXPECT_EQ(tree.held_bytes(kB), 2'000U);
}

TEST(PrefixTree, a_prompt_over_the_byte_ceiling_is_recorded_as_far_as_it_fits) {
  PrefixTree tree({.max_nodes_per_replica = 0, .max_index_bytes = 10'000});
  const std::string text(50'000, 'x');
  (void)tree.insert(1, text, kA);
  EXPECT_EQ(tree.stats().index_bytes, 10'000U);
  EXPECT_EQ(match_one(tree, 1, text, kA), tree.stats().text_bytes);
}

TEST(PrefixTree, limits_too_small_for_any_prompt_record_nothing) {
  PrefixTree tree({.max_nodes_per_replica = 0, .max_index_bytes = 100});
  EXPECT_EQ(tree.insert(1, "x", kA), PrefixTree::Ticket::kNone);
  expect_empty(tree);
}

TEST(PrefixTree, lower_limits_hold_at_once) {
  PrefixTree tree(kRoomy);
  for (char c = 'a'; c <= 'z'; ++c) {
    (void)tree.insert(1, std::string(10, c), kA);
  }
  tree.set_limits({.max_nodes_per_replica = 5, .max_index_bytes = 0});
  EXPECT_EQ(tree.held_nodes(kA), 5U);
  EXPECT_EQ(match_one(tree, 1, "zzzzzzzzzz", kA), 10U);
  EXPECT_EQ(match_one(tree, 1, "aaaaaaaaaa", kA), 0U);
}

TEST(PrefixTree, removing_a_replica_leaves_the_others_and_no_memory_behind) {
  PrefixTree tree(kRoomy);
  (void)tree.insert(1, "shared, then a", kA);
  (void)tree.insert(1, "shared, then b", kB);
  tree.remove_replica(kA);
  EXPECT_EQ(match_one(tree, 1, "shared, then b", kA), 0U);
  EXPECT_EQ(match_one(tree, 1, "shared, then b", kB), 14U);
  tree.remove_replica(kB);
  tree.remove_replica(ReplicaSlot{777});
  expect_empty(tree);
}

TEST(PrefixTree, three_thousand_replicas_come_and_go_without_growth) {
  PrefixTree tree(kRoomy);
  for (std::uint32_t slot = 0; slot < 3'000; ++slot) {
    (void)tree.insert(1, "a prompt that every replica has served", ReplicaSlot{slot});
  }
  EXPECT_EQ(tree.stats().nodes, 1U);
  EXPECT_EQ(tree.stats().marks, 3'000U);
  for (std::uint32_t slot = 0; slot < 3'000; ++slot) {
    tree.remove_replica(ReplicaSlot{slot});
  }
  expect_empty(tree);
}

TEST(PrefixTree, a_slot_that_is_not_dense_is_a_bug_and_changes_nothing) {
  PrefixTree tree(kRoomy);
  EXPECT_THROW((void)tree.insert(1, "x", ReplicaSlot{0xffff'ffff}), std::out_of_range);
  expect_empty(tree);
}

TEST(PrefixTree, bytes_are_just_bytes) {
  PrefixTree tree(kRoomy);
  const std::string all = [] {
    std::string bytes;
    for (int c = 0; c < 256; ++c) {
      bytes += static_cast<char>(c);
    }
    return bytes;
  }();
  for (std::size_t i = 0; i < all.size(); ++i) {  // a node with 256 children
    (void)tree.insert(1, "p" + all.substr(i) + all, kA);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(match_one(tree, 1, "p" + all.substr(i), kA), 1 + all.size() - i);
  }
}

TEST(PrefixTree, a_prompt_of_twelve_megabytes_is_split_and_merged) {
  PrefixTree tree(kRoomy);
  const std::string text(12'000'000, 'x');
  (void)tree.insert(1, text, kA);
  const auto branch = tree.insert(1, text.substr(0, 6'000'000) + "y", kB);
  EXPECT_EQ(match_one(tree, 1, text, kA), text.size());
  EXPECT_EQ(match_one(tree, 1, text, kB), 6'000'000U);
  tree.undo(branch);
  EXPECT_EQ(tree.stats().nodes,
            (text.size() + PrefixTree::kMaxEdgeBytes - 1) / PrefixTree::kMaxEdgeBytes);
  tree.remove_replica(kA);
  expect_empty(tree);
}

TEST(PrefixTree, a_path_of_a_hundred_thousand_nodes_needs_no_stack) {
  constexpr std::size_t kDepth = 100'000;
  PrefixTree tree({.max_nodes_per_replica = 0, .max_index_bytes = 0}, 1);
  const std::string text(kDepth, 'x');
  (void)tree.insert(1, text, kA);
  EXPECT_EQ(tree.stats().nodes, kDepth);
  (void)tree.insert(1, text.substr(0, 10), kB);
  EXPECT_EQ(match_one(tree, 1, text, kA), kDepth);
  EXPECT_EQ(match_one(tree, 1, text, kB), 10U);
  tree.remove_replica(kA);
  EXPECT_EQ(tree.stats().nodes, 10U);
}

TEST(PrefixTree, turns_of_a_long_conversation_merge_as_the_oldest_are_evicted) {
  constexpr std::size_t kTurns = 2'000;
  constexpr std::size_t kCeiling = 50;
  PrefixTree tree({.max_nodes_per_replica = kCeiling, .max_index_bytes = 0});
  std::string text;
  for (std::size_t turn = 0; turn < kTurns; ++turn) {
    text += "\xffturn " + std::to_string(turn);
    (void)tree.insert(1, text, kA);
  }
  EXPECT_EQ(tree.held_nodes(kA), kCeiling);
  EXPECT_EQ(tree.stats().nodes, kCeiling);
  EXPECT_EQ(match_one(tree, 1, text, kA), text.size());
}

std::string random_prompt(Rng& rng) {
  std::string text = "shared system prompt ";
  for (int n = 0; n < 6; ++n) {
    text += static_cast<char>('a' + uniform_index(rng, 3));
  }
  return text;
}

void expect_as_one_by_one(const PrefixTree& tree, std::string_view text,
                          const std::vector<ReplicaSlot>& replicas) {
  std::vector<std::size_t> matched(replicas.size());
  tree.match(1, text, replicas, matched);
  std::vector<std::uint32_t> holders(replicas.size());
  const PrefixTree::BestMatch best = tree.match_best(1, text, replicas, holders);
  holders.resize(best.holders);
  const std::size_t longest = *std::ranges::max_element(matched);
  std::vector<std::uint32_t> expected;
  for (std::uint32_t i = 0; i < replicas.size(); ++i) {
    ASSERT_EQ(matched[i], match_one(tree, 1, text, replicas[i]));
    if (matched[i] == longest && longest > 0) {
      expected.push_back(i);
    }
  }
  EXPECT_EQ(best.bytes, longest);
  std::ranges::sort(holders);
  EXPECT_EQ(holders, expected);
}

TEST(PrefixTree, both_ways_to_score_many_replicas_agree_with_one_at_a_time) {
  // Few marks among many replicas, and many marks among few, take different paths.
  Rng rng(3);
  const auto any_replica = [&rng](std::size_t bound) {
    return ReplicaSlot{static_cast<std::uint32_t>(uniform_index(rng, bound))};
  };
  PrefixTree tree(kRoomy);
  for (int i = 0; i < 2'000; ++i) {
    (void)tree.insert(1, random_prompt(rng), any_replica(200));
  }
  for (const std::size_t count : {1U, 3U, 40U, 200U}) {
    for (int i = 0; i < 200; ++i) {
      std::vector<ReplicaSlot> replicas;
      for (std::size_t n = 0; n < count; ++n) {
        replicas.push_back(any_replica(210));
      }
      expect_as_one_by_one(tree, random_prompt(rng), replicas);
    }
  }
}

TEST(PrefixTree, a_trace_of_another_tree_is_no_use_and_no_harm) {
  PrefixTree other(kRoomy);
  (void)other.insert(1, "known there", kA);
  std::uint32_t holder = 0;
  const PrefixTree::BestMatch there = other.match_best(1, "known there", {&kA, 1}, {&holder, 1});
  PrefixTree tree(kRoomy);
  (void)tree.insert(1, "something else", kA);
  (void)tree.insert(1, "known there", kB, there.trace);
  EXPECT_EQ(match_one(tree, 1, "known there", kB), 11U);
  EXPECT_EQ(match_one(tree, 1, "something else", kA), 14U);
}

}  // namespace
}  // namespace rolter::kvcache
