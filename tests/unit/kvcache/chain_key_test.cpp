#include "rolter/kvcache/chain_key.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <vector>

namespace rolter::kvcache {
namespace {

std::vector<TokenId> ids(std::size_t count, TokenId first = 0) {
  std::vector<TokenId> out(count);
  std::iota(out.begin(), out.end(), first);
  return out;
}

std::vector<ChainKey> chain_of(const std::vector<TokenId>& tokens, std::uint32_t block_size,
                               const PromptExtras& extras = {}) {
  std::vector<ChainKey> keys;
  chain_keys(tokens, block_size, extras, keys);
  return keys;
}

TEST(ChainKey, an_incomplete_block_has_no_key) {
  EXPECT_EQ(chain_of(ids(47), 16).size(), 2U);
  EXPECT_EQ(chain_of(ids(48), 16).size(), 3U);
  EXPECT_TRUE(chain_of(ids(15), 16).empty());
  EXPECT_TRUE(chain_of({}, 16).empty());
}

TEST(ChainKey, a_shared_prefix_gives_equal_keys_up_to_the_first_difference) {
  std::vector<TokenId> other = ids(64);
  other[40] = 999;
  const auto a = chain_of(ids(64), 16);
  const auto b = chain_of(other, 16);
  EXPECT_EQ(a[0], b[0]);
  EXPECT_EQ(a[1], b[1]);
  EXPECT_NE(a[2], b[2]);
  EXPECT_NE(a[3], b[3]);  // the same tokens, after different ones
}

TEST(ChainKey, is_what_extending_block_by_block_gives) {
  const auto tokens = ids(32);
  const ChainKey first = extend_chain(kRootKey, std::span(tokens).first(16));
  EXPECT_EQ(chain_of(tokens, 16)[0], first);
  EXPECT_EQ(chain_of(tokens, 16)[1], extend_chain(first, std::span(tokens).last(16)));
}

TEST(ChainKey, block_sizes_salts_and_adapters_keep_chains_apart) {
  const auto tokens = ids(64);
  std::set<ChainKey> all;
  for (const auto& keys :
       {chain_of(tokens, 16), chain_of(tokens, 32), chain_of(tokens, 16, {.cache_salt = "a"}),
        chain_of(tokens, 16, {.cache_salt = "b"}), chain_of(tokens, 16, {.adapter = "a"}),
        chain_of(tokens, 16, {.adapter = "a", .cache_salt = "a"})}) {
    for (const ChainKey key : keys) {
      EXPECT_TRUE(all.insert(key).second);
    }
  }
}

TEST(ChainKey, the_order_of_extras_matters) {
  const auto first = mix_extra(ExtraDigest::kNone, ExtraKind::kText, "a");
  EXPECT_NE(mix_extra(first, ExtraKind::kText, "b"),
            mix_extra(mix_extra(ExtraDigest::kNone, ExtraKind::kText, "b"), ExtraKind::kText, "a"));
  EXPECT_NE(mix_extra(first, ExtraKind::kText, ""), first);
}

}  // namespace
}  // namespace rolter::kvcache
