#include "rolter/kvcache/block_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "tests/fakes/stored_blocks.h"

namespace rolter::kvcache {
namespace {

using fakes::remove_blocks;
using fakes::resident;
using testing::ElementsAre;

class BlockIndexTest : public testing::Test {
 protected:
  StreamId stream(std::uint32_t replica = 0, std::size_t max_blocks = 1000) {
    const StreamId id =
        index.add_stream({.replica = ReplicaSlot{replica}, .max_blocks = max_blocks}).value();
    index.set_usable(id, true);
    return id;
  }

  /// Stores blocks of one token, whose hash is 100 + token, root first.
  void store(StreamId id, const std::vector<TokenId>& tokens) {
    std::vector<std::uint64_t> hashes;
    for (const TokenId token : tokens) {
      hashes.push_back(100 + token);
    }
    fakes::StoredBlocks{.hashes = hashes, .tokens = tokens}.apply(index, id);
  }

  const BlockCounters& counters(StreamId id) {
    counters_ = index.stats(id).counters;
    return counters_;
  }

  BlockIndex index;

 private:
  BlockCounters counters_;
};

TEST_F(BlockIndexTest, counts_leading_blocks_per_stream_in_one_walk) {
  const StreamId a = stream(0);
  const StreamId b = stream(1);
  const StreamId c = stream(2);
  store(a, {1, 2, 3, 4});
  store(b, {1, 2});
  std::vector<ChainKey> keys;
  chain_keys(std::vector<TokenId>{1, 2, 3, 9}, 1, {}, keys);
  const std::vector<StreamId> streams{c, b, a};
  std::vector<std::uint32_t> blocks(3, 77);
  index.lookup(keys, streams, blocks);
  EXPECT_THAT(blocks, ElementsAre(0, 2, 3));
}

TEST_F(BlockIndexTest, engines_with_different_hashes_share_blocks) {
  const StreamId a = stream(0);
  const StreamId b = stream(1);
  store(a, {1, 2});
  fakes::StoredBlocks{.hashes = {7001, 7002}, .tokens = {1, 2}}.apply(index, b);
  EXPECT_EQ(index.stats().blocks, 2U);
  EXPECT_EQ(index.stats().pairs, 4U);
  EXPECT_EQ(resident(index, b, {1, 2}), 2U);
}

TEST_F(BlockIndexTest, stops_at_the_first_missing_block) {
  const StreamId a = stream();
  store(a, {1, 2, 3, 4});
  remove_blocks(index, a, {102});
  EXPECT_EQ(resident(index, a, {1, 2, 3, 4}), 1U);
  fakes::StoredBlocks{.hashes = {102}, .parent = 101, .tokens = {2}}.apply(index, a);
  EXPECT_EQ(resident(index, a, {1, 2, 3, 4}), 4U);
}

// KV-12: one removal per physical copy.
TEST_F(BlockIndexTest, a_block_is_gone_only_after_its_last_copy) {
  const StreamId a = stream();
  store(a, {1, 2});
  fakes::StoredBlocks{.hashes = {102}, .parent = 101, .tokens = {2}}.apply(index, a);
  remove_blocks(index, a, {102});
  EXPECT_EQ(resident(index, a, {1, 2}), 2U);
  remove_blocks(index, a, {102});
  EXPECT_EQ(resident(index, a, {1, 2}), 1U);
  remove_blocks(index, a, {102});
  EXPECT_EQ(counters(a).unknown_removals, 1U);
}

// KV-09
TEST_F(BlockIndexTest, nothing_is_left_after_a_clear) {
  const StreamId a = stream(0);
  const StreamId b = stream(1);
  std::vector<TokenId> tokens(100);
  std::iota(tokens.begin(), tokens.end(), 0);
  store(a, tokens);
  store(b, tokens);
  index.begin(a).cleared();
  EXPECT_EQ(resident(index, a, tokens), 0U);
  EXPECT_EQ(resident(index, b, tokens), 100U);
  EXPECT_EQ(index.stats().pairs, 100U);
  store(a, tokens);
  EXPECT_EQ(resident(index, a, tokens), 100U);
}

TEST_F(BlockIndexTest, a_block_whose_parent_is_unknown_waits_and_is_no_root) {
  const StreamId a = stream();
  fakes::StoredBlocks{.hashes = {103, 104}, .parent = 102, .tokens = {3, 4}}.apply(index, a);
  fakes::StoredBlocks{.hashes = {105}, .parent = 104, .tokens = {5}}.apply(index, a);
  EXPECT_EQ(resident(index, a, {3, 4}), 0U);
  EXPECT_EQ(index.stats(a).parked, 3U);
  store(a, {1, 2});
  EXPECT_EQ(resident(index, a, {1, 2, 3, 4, 5}), 5U);
  EXPECT_EQ(index.stats(a).parked, 0U);
}

TEST_F(BlockIndexTest, a_parked_block_keeps_its_copies_and_removals) {
  const StreamId a = stream();
  for (int copy = 0; copy < 2; ++copy) {
    fakes::StoredBlocks{.hashes = {103}, .parent = 102, .tokens = {3}}.apply(index, a);
  }
  fakes::StoredBlocks{.hashes = {104}, .parent = 103, .tokens = {4}}.apply(index, a);
  remove_blocks(index, a, {103, 104});
  store(a, {1, 2});
  EXPECT_EQ(resident(index, a, {1, 2, 3, 4}), 3U);
  EXPECT_EQ(index.copies(a, EngineHash{103}), 1U);
}

TEST_F(BlockIndexTest, parked_blocks_are_bounded_and_the_oldest_is_dropped) {
  const StreamId a = stream(0, 160);  // room for 160 / 16 + 1 parked blocks
  for (std::uint64_t i = 0; i < 50; ++i) {
    fakes::StoredBlocks{
        .hashes = {2000 + i}, .parent = 1000 + i, .tokens = {static_cast<TokenId>(i)}}
        .apply(index, a);
  }
  EXPECT_EQ(index.stats(a).parked, 11U);
  EXPECT_EQ(counters(a).parked_dropped, 39U);
}

TEST_F(BlockIndexTest, known_blocks_of_an_event_without_known_parent_count_a_copy) {
  const StreamId a = stream();
  store(a, {1, 2, 3});
  remove_blocks(index, a, {101});
  fakes::StoredBlocks{.hashes = {102, 103}, .parent = 101, .tokens = {2, 3}}.apply(index, a);
  EXPECT_EQ(index.copies(a, EngineHash{102}), 2U);
  EXPECT_EQ(index.stats(a).parked, 0U);
}

// KV-14
TEST_F(BlockIndexTest, a_hash_that_repeats_or_names_itself_costs_only_its_event) {
  const StreamId a = stream();
  store(a, {1, 2});
  fakes::StoredBlocks{.hashes = {103, 104, 103}, .parent = 102, .tokens = {3, 4, 5}}.apply(index,
                                                                                           a);
  fakes::StoredBlocks{.hashes = {106}, .parent = 106, .tokens = {6}}.apply(index, a);
  fakes::StoredBlocks{.hashes = {101}, .parent = 102, .tokens = {1}}.apply(index, a);
  EXPECT_EQ(counters(a).conflicting_events, 3U);
  EXPECT_EQ(resident(index, a, {1, 2, 3, 4}), 2U);
  EXPECT_EQ(index.stats(a).blocks, 2U);
  EXPECT_EQ(index.copies(a, EngineHash{101}), 1U);
}

// KV-17
TEST_F(BlockIndexTest, only_a_full_attention_group_counts) {
  const StreamId a = stream();
  const EventScope full{.kind = GroupKind::kFullAttention, .group = 3};
  const EventScope window{.kind = GroupKind::kPartial, .group = 0};
  fakes::StoredBlocks{.hashes = {102}, .tokens = {1, 2}, .block_size = 1, .scope = window}.apply(
      index, a);
  fakes::StoredBlocks{.hashes = {101, 102}, .tokens = {1, 2}, .scope = full}.apply(index, a);
  EXPECT_EQ(resident(index, a, {1, 2}), 2U);
  EXPECT_EQ(index.copies(a, EngineHash{102}), 1U);
  remove_blocks(index, a, {101, 102}, window);
  EXPECT_EQ(resident(index, a, {1, 2}), 2U);
  remove_blocks(index, a, {102}, full);
  EXPECT_EQ(resident(index, a, {1, 2}), 1U);
}

TEST_F(BlockIndexTest, groups_of_unsaid_kind_are_told_by_their_gaps) {
  const StreamId a = stream();
  const EventScope whole{.group = 0};
  const EventScope sparse{.group = 1};
  fakes::StoredBlocks{.hashes = {101, 102}, .tokens = {1, 2}, .scope = whole}.apply(index, a);
  fakes::StoredBlocks{.hashes = {102}, .tokens = {1, 2}, .scope = sparse}.apply(index, a);
  remove_blocks(index, a, {102}, sparse);
  EXPECT_EQ(resident(index, a, {1, 2}), 2U);
  std::vector<BlockIndex::StreamView> views;
  const BlockIndex::ReplicaQuery query{.replica = ReplicaSlot{0}, .model = {}};
  index.streams_of({&query, 1}, views);
  EXPECT_TRUE(views.at(0).hybrid);
}

TEST_F(BlockIndexTest, a_wrong_guess_about_unsaid_groups_is_corrected) {
  const StreamId a = stream();
  const EventScope sparse{.group = 0};
  const EventScope whole{.group = 1};
  fakes::StoredBlocks{.hashes = {101}, .tokens = {1}, .scope = sparse}.apply(index, a);
  for (std::uint64_t i = 0; i < 3; ++i) {
    fakes::StoredBlocks{.hashes = {200 + i}, .tokens = {1, 2}, .scope = sparse}.apply(index, a);
  }
  EXPECT_EQ(index.stats(a).blocks, 0U);
  fakes::StoredBlocks{.hashes = {101, 102}, .tokens = {1, 2}, .scope = whole}.apply(index, a);
  EXPECT_EQ(resident(index, a, {1, 2}), 2U);
}

// KV-18: other tiers are hints only, and are not taken for residency.
TEST_F(BlockIndexTest, blocks_in_other_memory_do_not_count) {
  const StreamId a = stream();
  const EventScope cpu{.medium = Medium::kOther};
  store(a, {1});
  fakes::StoredBlocks{.hashes = {101, 102}, .tokens = {1, 2}, .scope = cpu}.apply(index, a);
  EXPECT_EQ(resident(index, a, {1, 2}), 1U);
  remove_blocks(index, a, {101}, cpu);
  EXPECT_EQ(resident(index, a, {1, 2}), 1U);
}

TEST_F(BlockIndexTest, the_block_size_is_learned_and_entries_for_parts_of_a_block_are_left_out) {
  const StreamId a = stream();
  fakes::StoredBlocks{.hashes = {50}, .tokens = {1, 2}, .block_size = 2}.apply(index, a);
  fakes::StoredBlocks{.hashes = {101}, .tokens = {1, 2, 3, 4}, .block_size = 4}.apply(index, a);
  EXPECT_EQ(resident(index, a, {1, 2, 3, 4}, 4), 1U);
  EXPECT_EQ(resident(index, a, {1, 2}, 2), 0U);
  fakes::StoredBlocks{.hashes = {51}, .parent = 101, .tokens = {5, 6, 7}, .block_size = 3}.apply(
      index, a);
  EXPECT_EQ(index.stats(a).blocks, 1U);
  EXPECT_EQ(index.stats(a).parked, 0U);
  fakes::StoredBlocks{.hashes = {102}, .parent = 101, .tokens = {5, 6, 7, 8}, .block_size = 0}
      .apply(index, a);
  EXPECT_EQ(resident(index, a, {1, 2, 3, 4, 5, 6, 7, 8}, 4), 2U);
}

TEST_F(BlockIndexTest, events_whose_tokens_do_not_fill_their_blocks_are_left_out) {
  const StreamId a = stream();
  store(a, {1, 2});
  fakes::StoredBlocks{.hashes = {103, 104}, .parent = 102, .tokens = {3}}.apply(index, a);
  fakes::StoredBlocks{.hashes = {103}, .parent = 102, .tokens = {}, .block_size = 0}.apply(index,
                                                                                           a);
  EXPECT_EQ(counters(a).ignored_events, 2U);
  EXPECT_EQ(index.stats(a).blocks, 2U);
}

TEST_F(BlockIndexTest, salts_and_adapters_separate_equal_tokens) {
  const StreamId a = stream();
  const ExtraDigest salt = mix_extra(ExtraDigest::kNone, ExtraKind::kText, "tenant");
  fakes::StoredBlocks{.hashes = {101, 102}, .tokens = {1, 2}, .extras = {salt, ExtraDigest::kNone}}
      .apply(index, a);
  EXPECT_EQ(resident(index, a, {1, 2}), 0U);
  EXPECT_EQ(resident(index, a, {1, 2}, 1, {.cache_salt = "tenant"}), 2U);
  EXPECT_EQ(resident(index, a, {1, 2}, 1, {.adapter = "tenant"}), 0U);
}

TEST_F(BlockIndexTest, chains_that_an_old_engine_tells_apart_and_we_cannot_live_as_one_block) {
  const StreamId a = stream();
  store(a, {1});
  fakes::StoredBlocks{.hashes = {901}, .tokens = {1}}.apply(index, a);
  remove_blocks(index, a, {101});
  EXPECT_EQ(resident(index, a, {1}), 1U);
  remove_blocks(index, a, {901});
  EXPECT_EQ(resident(index, a, {1}), 0U);
  EXPECT_EQ(index.stats().blocks, 0U);
}

TEST_F(BlockIndexTest, a_stream_that_is_not_usable_keeps_its_blocks_and_gets_no_credit) {
  const StreamId a = stream();
  store(a, {1, 2});
  index.set_usable(a, false);
  EXPECT_EQ(resident(index, a, {1, 2}), 0U);
  index.set_usable(a, true);
  EXPECT_EQ(resident(index, a, {1, 2}), 2U);
}

// KV-21
TEST_F(BlockIndexTest, a_removed_stream_leaves_nothing_and_its_place_is_used_again) {
  const StreamId a = stream(0);
  const StreamId b = stream(1);
  store(a, {1, 2});
  store(b, {1});
  index.remove_stream(a);
  EXPECT_EQ(index.stats().pairs, 1U);
  EXPECT_EQ(resident(index, a, {1, 2}), 0U);
  const StreamId c = stream(2);
  EXPECT_EQ(c, a);
  EXPECT_EQ(resident(index, c, {1, 2}), 0U);
}

TEST_F(BlockIndexTest, ranks_of_a_replica_are_told_apart_in_order) {
  for (const std::uint32_t rank : {2U, 0U, 1U}) {
    index.add_stream({.replica = ReplicaSlot{5}, .rank = rank}).value();
  }
  const std::vector<BlockIndex::ReplicaQuery> queries{{.replica = ReplicaSlot{9}, .model = {}},
                                                      {.replica = ReplicaSlot{5}, .model = {}}};
  std::vector<BlockIndex::StreamView> views;
  index.streams_of(queries, views);
  ASSERT_EQ(views.size(), 3U);
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(views[rank].rank, rank);
    EXPECT_EQ(views[rank].position, 1U);
    EXPECT_FALSE(views[rank].usable);
    EXPECT_EQ(views[rank].block_size, 0U);
  }
}

TEST_F(BlockIndexTest, holds_more_streams_than_a_word_has_bits) {
  std::vector<StreamId> streams;
  for (std::uint32_t replica = 0; replica < 200; ++replica) {
    streams.push_back(stream(replica));
    store(streams.back(), {1, 2, 3 + replica % 7});
  }
  for (std::uint32_t replica = 0; replica < 200; ++replica) {
    EXPECT_EQ(resident(index, streams[replica], {1, 2, 5}), replica % 7 == 2 ? 3U : 2U);
  }
}

TEST_F(BlockIndexTest, learns_the_names_of_adapters_and_forgets_them_at_a_restart) {
  const StreamId a = stream();
  const EngineHash hash{101};
  const TokenId token = 1;
  const ExtraDigest extra = mix_extra(ExtraDigest::kNone, ExtraKind::kAdapter, "ad1");
  BlockStored event{.hashes = {&hash, 1}, .tokens = {&token, 1}, .block_size = 1};
  event.extras = {&extra, 1};
  event.adapter = "ad1";
  index.begin(a).stored(event);
  const auto knows = [&](std::string_view model) {
    std::vector<BlockIndex::StreamView> views;
    const BlockIndex::ReplicaQuery query{.replica = ReplicaSlot{0}, .model = model};
    index.streams_of({&query, 1}, views);
    return views.at(0).knows_adapter;
  };
  EXPECT_TRUE(knows("ad1"));
  EXPECT_FALSE(knows("base"));
  EXPECT_EQ(resident(index, a, {1}, 1, {.adapter = "ad1"}), 1U);
  index.forget(a, BlockIndex::Forget::kBlocksAndEngine);
  EXPECT_FALSE(knows("ad1"));
  EXPECT_EQ(resident(index, a, {1}, 1, {.adapter = "ad1"}), 0U);
}

TEST_F(BlockIndexTest, over_its_bound_gives_up_the_oldest_leaves_and_never_a_parent_first) {
  const StreamId a = stream(0, 16);
  store(a, {1, 2, 3, 4});  // oldest chain
  store(a, {11, 12, 13, 14});
  store(a, {1, 2});                                // its head is used again
  store(a, {21, 22, 23, 24, 25, 26, 27, 28, 29});  // 17 blocks: two over seven eighths, and one
  EXPECT_EQ(index.stats(a).blocks, 14U);
  EXPECT_EQ(counters(a).evicted, 3U);
  EXPECT_EQ(resident(index, a, {1, 2, 3, 4}), 2U);
  EXPECT_EQ(resident(index, a, {11, 12, 13, 14}), 3U);
  EXPECT_EQ(resident(index, a, {21, 22, 23, 24, 25, 26, 27, 28, 29}), 9U);
}

TEST_F(BlockIndexTest, a_chain_longer_than_the_bound_keeps_its_head) {
  const StreamId a = stream(0, 8);
  std::vector<TokenId> tokens(50);
  std::iota(tokens.begin(), tokens.end(), 0);
  store(a, tokens);
  EXPECT_EQ(index.stats(a).blocks, 7U);
  EXPECT_EQ(resident(index, a, tokens), 7U);
}

class Changes final : public BlockListener {
 public:
  void on_stored(const StoredChain& chain) override {
    text += "stored " + std::to_string(chain.keys.size()) + " after " +
            std::to_string(chain.depth) +
            (chain.session_id.empty() ? "" : " for " + std::string(chain.session_id)) + "; ";
    last_keys.assign(chain.keys.begin(), chain.keys.end());
  }
  void on_removed(StreamId, ChainKey key) override {
    text += key == last_keys.back() ? "removed last; " : "removed other; ";
  }
  void on_cleared(StreamId) override { text += "cleared; "; }

  std::string text;
  std::vector<ChainKey> last_keys;
};

TEST(BlockListener, is_told_of_chains_with_their_request_and_of_what_leaves) {
  Changes changes;
  BlockIndex index(&changes);
  const StreamId a = index.add_stream({}).value();
  fakes::StoredBlocks{.hashes = {101, 102}, .tokens = {1, 2}, .session_id = "s"}.apply(index, a);
  fakes::StoredBlocks{.hashes = {103}, .parent = 102, .tokens = {3}}.apply(index, a);
  fakes::StoredBlocks{.hashes = {103}, .parent = 102, .tokens = {3}}.apply(index, a);
  remove_blocks(index, a, {103});
  remove_blocks(index, a, {103});
  index.begin(a).cleared();
  EXPECT_EQ(changes.text,
            "stored 2 after 0 for s; stored 1 after 2; stored 1 after 2; removed last; cleared; ");
}

}  // namespace
}  // namespace rolter::kvcache
