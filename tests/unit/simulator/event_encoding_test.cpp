#include "rolter/simulator/event_encoding.h"

#include <gtest/gtest.h>

#include <string>

namespace rolter::simulator {
namespace {

std::string hex(const std::string& bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char byte : bytes) {
    out.push_back(kDigits[static_cast<unsigned char>(byte) >> 4U]);
    out.push_back(kDigits[static_cast<unsigned char>(byte) & 15U]);
  }
  return out;
}

EventBatch batch_of(KvEvent event) {
  EventBatch batch;
  batch.unix_seconds = 1764478800.5;
  batch.events.push_back(std::move(event));
  return batch;
}

BlockStored two_blocks() {
  BlockStored event;
  event.hashes = {BlockHash{0x0123456789abcdef}, BlockHash{0xfedcba9876543210}};
  event.tokens = {1, 2, 3, 4, 5, 6, 7, 8};
  event.block_size = 4;
  event.extra_keys.resize(2);
  return event;
}

// What vLLM's own classes of 0.20 write for this event, apart from the batch around it.
TEST(EventEncoding, arrays_have_the_ten_items_of_vllm_0_20) {
  EXPECT_EQ(
      hex(encode(batch_of(two_blocks()), EventEncoding::kArray, HashEncoding::kInteger)),
      "93cb41da4af3d4200000919aab426c6f636b53746f72656492cf0123456789abcdefcffedcba9876543210c0"
      "98010203040506070804c0a3475055c092c0c00000");
}

TEST(EventEncoding, a_removal_as_an_array) {
  EXPECT_EQ(hex(encode(batch_of(BlockRemoved{BlockHash{11}}), EventEncoding::kArray,
                       HashEncoding::kInteger)),
            "93cb41da4af3d42000009194ac426c6f636b52656d6f766564910ba34750550000");
}

TEST(EventEncoding, a_clear_as_map_and_as_array) {
  const EventBatch batch = batch_of(AllBlocksCleared{});
  EXPECT_EQ(hex(encode(batch, EventEncoding::kMap, HashEncoding::kInteger)),
            "93cb41da4af3d42000009181a474797065b0416c6c426c6f636b73436c656172656400");
  EXPECT_EQ(hex(encode(batch, EventEncoding::kArray, HashEncoding::kInteger)),
            "93cb41da4af3d42000009191b0416c6c426c6f636b73436c656172656400");
}

TEST(EventEncoding, a_session_is_not_told_in_array_mode) {
  BlockStored event = two_blocks();
  const std::string without =
      encode(batch_of(event), EventEncoding::kArray, HashEncoding::kInteger);
  event.session_id = "s-1";
  EXPECT_EQ(encode(batch_of(event), EventEncoding::kArray, HashEncoding::kInteger), without);
  EXPECT_NE(encode(batch_of(event), EventEncoding::kMap, HashEncoding::kInteger).find("s-1"),
            std::string::npos);
}

TEST(EventEncoding, a_byte_hash_is_a_32_byte_digest_that_ends_with_the_integer) {
  const std::string payload = hex(encode(batch_of(BlockRemoved{BlockHash{0x0123456789abcdef}}),
                                         EventEncoding::kArray, HashEncoding::kBytes));
  const std::size_t at = payload.find("91c420");
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(payload.substr(at + 6 + 48, 16), "0123456789abcdef");
  EXPECT_EQ(payload.substr(at + 6 + 64), "a34750550000");
}

}  // namespace
}  // namespace rolter::simulator
