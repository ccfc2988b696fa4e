#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "rolter/kvcache/block_index.h"
#include "tests/fakes/stored_blocks.h"

namespace rolter::kvcache {
namespace {

// More blocks than a table keeps in one piece, and holders that end at both sides of its borders.
TEST(BlockRuns, go_on_over_the_borders_of_the_table) {
  constexpr std::size_t kBlocks = 140'000;
  std::vector<TokenId> tokens(kBlocks);
  std::iota(tokens.begin(), tokens.end(), 1U);
  BlockIndex index;
  std::vector<StreamId> streams;
  const std::vector<std::uint32_t> held{kBlocks, 1, 65'535, 65'536, 65'537, 131'073, 139'999};
  for (const std::uint32_t blocks : held) {
    const ReplicaSlot slot{static_cast<std::uint32_t>(streams.size())};
    streams.push_back(index.add_stream({.replica = slot, .max_blocks = kBlocks}).value());
    index.set_usable(streams.back(), true);
    fakes::StoredBlocks stored{.hashes = {}, .tokens = {tokens.begin(), tokens.begin() + blocks}};
    stored.hashes.assign(stored.tokens.begin(), stored.tokens.end());
    stored.apply(index, streams.back());
  }
  std::vector<ChainKey> keys;
  chain_keys(tokens, 1, {}, keys);
  std::vector<std::uint32_t> blocks(streams.size());
  index.lookup(keys, streams, blocks);
  EXPECT_EQ(blocks, held);
}

}  // namespace
}  // namespace rolter::kvcache
