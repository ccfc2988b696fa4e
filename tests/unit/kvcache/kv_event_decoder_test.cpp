#include "rolter/kvcache/kv_event_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/fakes/collected_events.h"
#include "tests/fakes/msgpack_writer.h"
#include "tests/fakes/recorded_messages.h"

namespace rolter::kvcache {
namespace {

using fakes::CollectedEvents;
using fakes::Packed;
using Kind = CollectedEvents::Kind;
using testing::ElementsAre;
using testing::IsEmpty;

struct Decoded {
  BatchSummary summary;
  std::vector<CollectedEvents::Event> events;
};

Decoded decode(std::string_view payload) {
  KvEventDecoder decoder;
  CollectedEvents sink;
  const auto summary = decoder.decode(fakes::as_payload(payload), sink);
  EXPECT_TRUE(summary.has_value());
  return {summary.value_or(BatchSummary{}), sink.events};
}

CollectedEvents::Event decode_one(const Packed& event) {
  const Decoded decoded = decode(fakes::batch({event}));
  EXPECT_EQ(decoded.summary.malformed, 0U);
  EXPECT_EQ(decoded.events.size(), 1U);
  return decoded.events.empty() ? CollectedEvents::Event{} : decoded.events[0];
}

bool refuses(std::string_view payload) {
  KvEventDecoder decoder;
  CollectedEvents sink;
  return !decoder.decode(fakes::as_payload(payload), sink).has_value() && sink.events.empty();
}

/// A BlockStored map of one block of two tokens with these fields besides.
Packed stored_map(std::vector<std::pair<std::string_view, Packed>> more) {
  std::vector<std::pair<std::string_view, Packed>> fields{{"type", fakes::text("BlockStored")},
                                                          {"block_hashes", fakes::numbers({7})},
                                                          {"parent_block_hash", fakes::nil()},
                                                          {"token_ids", fakes::numbers({1, 2})},
                                                          {"block_size", fakes::number(2)}};
  fields.insert(fields.end(), more.begin(), more.end());
  return fakes::map(fields);
}

ExtraDigest salt(std::string_view value) {
  return mix_extra(ExtraDigest::kNone, ExtraKind::kText, value);
}

ExtraDigest adapter(std::string_view name) {
  return mix_extra(ExtraDigest::kNone, ExtraKind::kAdapter, name);
}

TEST(KvEventDecoder, reads_a_two_part_batch_with_a_negative_hash_of_vllm_0_9) {
  const Decoded decoded = decode(
      fakes::from_hex("92cb41da4af3d42000009196ab426c6f636b53746f72656491d3fedcba9876543210c0"
                      "940102030404c0"));
  EXPECT_DOUBLE_EQ(decoded.summary.timestamp, 1764478800.5);
  EXPECT_FALSE(decoded.summary.rank.has_value());
  ASSERT_EQ(decoded.events.size(), 1U);
  EXPECT_THAT(decoded.events[0].hashes, ElementsAre(0xfedcba9876543210ULL));
  EXPECT_FALSE(decoded.events[0].parent.has_value());
  EXPECT_THAT(decoded.events[0].tokens, ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(decoded.events[0].block_size, 4U);
}

TEST(KvEventDecoder, reads_positional_events_of_vllm_0_15) {
  const Decoded decoded =
      decode(fakes::from_hex("93cb41da4af3d42000009198ab426c6f636b53746f72656492cf0123456789abcdefc"
                             "ffedcba9876543210cffedcba98"
                             "7654321098010203040506070804c0a3475055c000"));
  EXPECT_EQ(decoded.summary.rank, 0U);
  ASSERT_EQ(decoded.events.size(), 1U);
  EXPECT_THAT(decoded.events[0].hashes, ElementsAre(0x0123456789abcdefULL, 0xfedcba9876543210ULL));
  EXPECT_EQ(decoded.events[0].parent, 0xfedcba9876543210ULL);
  EXPECT_EQ(decoded.events[0].tokens.size(), 8U);
  EXPECT_EQ(decoded.events[0].scope.medium, Medium::kGpu);
}

TEST(KvEventDecoder, reads_maps_of_vllm_0_24_and_later) {
  const Decoded decoded =
      decode(fakes::from_hex("93cb41da4af3d4200000918ba474797065ab426c6f636b53746f726564ac626c6f636"
                             "b5f68617368657392cf01234567"
                             "89abcdefcffedcba9876543210b1706172656e745f626c6f636b5f68617368c0a9746"
                             "f6b656e5f696473980102030405"
                             "060708aa626c6f636b5f73697a6504a76c6f72615f6964c0a66d656469756da347505"
                             "5a96c6f72615f6e616d65c0aa65"
                             "787472615f6b65797392c0c0a967726f75705f69647800b26b765f63616368655f737"
                             "065635f6b696e64ae66756c6c5f"
                             "617474656e74696f6e00"));
  ASSERT_EQ(decoded.events.size(), 1U);
  const auto& event = decoded.events[0];
  EXPECT_THAT(event.hashes, ElementsAre(0x0123456789abcdefULL, 0xfedcba9876543210ULL));
  EXPECT_FALSE(event.parent.has_value());
  EXPECT_THAT(event.tokens, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_THAT(event.extras, IsEmpty());
  EXPECT_EQ(event.scope.group, 0U);
  EXPECT_EQ(event.scope.kind, GroupKind::kFullAttention);
}

TEST(KvEventDecoder, reads_removals_and_clears_in_both_encodings) {
  const Decoded removed =
      decode(fakes::from_hex("93cb41da4af3d42000009184a474797065ac426c6f636b52656d6f766564ac626c6f6"
                             "36b5f68617368657391cf012345"
                             "6789abcdefa66d656469756da3475055a967726f75705f6964780000"));
  ASSERT_EQ(removed.events.size(), 1U);
  EXPECT_EQ(removed.events[0].kind, Kind::kRemoved);
  EXPECT_THAT(removed.events[0].hashes, ElementsAre(0x0123456789abcdefULL));
  for (const char* hex :
       {"93cb41da4af3d42000009191b0416c6c426c6f636b73436c656172656400",
        "93cb41da4af3d42000009181a474797065b0416c6c426c6f636b73436c656172656400"}) {
    const Decoded cleared = decode(fakes::from_hex(hex));
    ASSERT_EQ(cleared.events.size(), 1U);
    EXPECT_EQ(cleared.events[0].kind, Kind::kCleared);
  }
}

TEST(KvEventDecoder, takes_the_last_8_bytes_of_a_binary_hash) {
  const Decoded decoded = decode(fakes::from_hex(
      "93cb41da4af3d42000009184a474797065ac426c6f636b52656d6f766564ac626c6f636b5f68617368657391c410"
      "0001"
      "02030405060708090a0b0c0d0e0fa66d656469756da3475055a967726f75705f6964780000"));
  ASSERT_EQ(decoded.events.size(), 1U);
  EXPECT_THAT(decoded.events[0].hashes, ElementsAre(0x08090a0b0c0d0e0fULL));
  const auto event = decode_one(stored_map({{"parent_block_hash", fakes::binary("\x01\x02")}}));
  EXPECT_EQ(event.parent, 0x0102U);
}

TEST(KvEventDecoder, keeps_hashes_above_2_63_apart_from_negative_ones_only_by_their_bits) {
  const auto event = decode_one(
      stored_map({{"block_hashes", fakes::array({fakes::number(0xffffffffffffffffULL),
                                                 fakes::negative(-2), fakes::number(1)})}}));
  EXPECT_THAT(event.hashes, ElementsAre(0xffffffffffffffffULL, 0xfffffffffffffffeULL, 1U));
}

// KV-06: arrays of other versions; KV-07: maps.
TEST(KvEventDecoder, defaults_missing_and_ignores_extra_items_of_positional_events) {
  const std::vector<Packed> items{fakes::text("BlockStored"),
                                  fakes::numbers({7}),
                                  fakes::nil(),
                                  fakes::numbers({1, 2}),
                                  fakes::number(2),
                                  fakes::nil(),
                                  fakes::text("GPU"),
                                  fakes::nil(),
                                  fakes::array({fakes::nil()}),
                                  fakes::number(3),
                                  fakes::text("sliding_window"),
                                  fakes::number(128),
                                  fakes::text("later"),
                                  fakes::numbers({1})};
  for (const std::size_t count : {4U, 6U, 9U, 12U, 14U}) {
    const auto event = decode_one(fakes::array({items.begin(), items.begin() + count}));
    EXPECT_THAT(event.hashes, ElementsAre(7)) << count;
    EXPECT_THAT(event.tokens, ElementsAre(1, 2)) << count;
    EXPECT_EQ(event.block_size, count > 4 ? 2U : 0U);
    EXPECT_EQ(event.scope.kind, count > 10 ? GroupKind::kPartial : GroupKind::kUnsaid);
    EXPECT_EQ(event.scope.group.has_value(), count > 9);
  }
}

TEST(KvEventDecoder, skips_unknown_tags_fields_and_batch_elements) {
  const auto event = decode_one(stored_map(
      {{"origin", fakes::text("NEW")}, {"block_offsets", fakes::array({fakes::map({})})}}));
  EXPECT_THAT(event.hashes, ElementsAre(7));
  const Decoded decoded = decode(
      fakes::array({fakes::real(0),
                    fakes::array({fakes::array({fakes::text("BlockInactive")}),
                                  fakes::map({{"type", fakes::text("New")}}), stored_map({})}),
                    fakes::number(3), fakes::binary("publisher"), fakes::nil()}));
  EXPECT_EQ(decoded.summary.unknown, 2U);
  EXPECT_EQ(decoded.summary.delivered, 1U);
  EXPECT_EQ(decoded.summary.rank, 3U);
}

// KV-14: one malformed event must not cost the others.
TEST(KvEventDecoder, a_malformed_event_costs_only_itself) {
  const std::vector<Packed> malformed{
      fakes::number(1),
      fakes::array({}),
      fakes::array({fakes::number(1)}),
      fakes::map({}),
      fakes::map({{"type", fakes::number(1)}}),
      fakes::array({fakes::map({}), fakes::number(1)}),
      fakes::array({fakes::text("BlockStored")}),
      fakes::array({fakes::text("BlockRemoved"), fakes::nil()}),
      stored_map({{"block_hashes", fakes::text("7")}}),
      stored_map({{"block_hashes", fakes::array({fakes::binary("")})}}),
      stored_map({{"block_hashes", fakes::array({fakes::nil()})}}),
      stored_map({{"parent_block_hash", fakes::text("x")}}),
      stored_map({{"token_ids", fakes::array({fakes::negative(-1)})}}),
      stored_map({{"token_ids", fakes::array({fakes::number(0x100000000ULL)})}}),
      stored_map({{"token_ids", fakes::array({fakes::array({})})}}),
      stored_map({{"block_size", fakes::negative(-4)}})};
  std::vector<Packed> events = malformed;
  events.push_back(stored_map({}));
  const Decoded decoded = decode(fakes::batch(events));
  EXPECT_EQ(decoded.summary.malformed, malformed.size());
  EXPECT_EQ(decoded.summary.delivered, 1U);
  ASSERT_EQ(decoded.events.size(), 1U);
  EXPECT_THAT(decoded.events[0].hashes, ElementsAre(7));
}

TEST(KvEventDecoder, refuses_payloads_that_are_no_batch) {
  EXPECT_TRUE(refuses(""));
  EXPECT_TRUE(refuses("junk"));
  EXPECT_TRUE(refuses(fakes::number(1)));
  EXPECT_TRUE(refuses(fakes::array({fakes::real(0)})));
  EXPECT_TRUE(refuses(fakes::array({fakes::real(0), fakes::number(1)})));
  EXPECT_TRUE(refuses(fakes::map({{"events", fakes::array({})}})));
  EXPECT_TRUE(refuses(fakes::batch({stored_map({})}) + "x"));
  Packed cut = fakes::batch({stored_map({})});
  while (!cut.empty()) {
    cut.pop_back();
    EXPECT_TRUE(refuses(cut));
  }
}

// KV-18: where the block is.
TEST(KvEventDecoder, only_gpu_memory_is_the_gpu_medium) {
  const auto medium_of = [](const Packed& medium) {
    return decode_one(stored_map({{"medium", medium}})).scope.medium;
  };
  EXPECT_EQ(decode_one(stored_map({})).scope.medium, Medium::kGpu);
  EXPECT_EQ(medium_of(fakes::nil()), Medium::kGpu);
  EXPECT_EQ(medium_of(fakes::text("GPU")), Medium::kGpu);
  EXPECT_EQ(medium_of(fakes::text("gpu")), Medium::kGpu);
  for (const char* other : {"CPU", "cpu", "CPU_PINNED", "DISK", "STORAGE", "FS", "EXTERNAL", "?"}) {
    EXPECT_EQ(medium_of(fakes::text(other)), Medium::kOther) << other;
  }
  EXPECT_EQ(medium_of(fakes::number(1)), Medium::kOther);
  EXPECT_EQ(decode_one(stored_map({{"locality", fakes::text("REMOTE")}})).scope.medium,
            Medium::kOther);
}

// KV-20: an adapter is named in its field and again among the extra keys.
TEST(KvEventDecoder, an_adapter_is_one_extra_however_often_it_is_named) {
  const Packed listed = fakes::array({fakes::array({fakes::text("ad1")})});
  const auto both =
      decode_one(stored_map({{"lora_name", fakes::text("ad1")}, {"extra_keys", listed}}));
  const auto field = decode_one(stored_map({{"lora_name", fakes::text("ad1")}}));
  const auto keys = decode_one(stored_map({{"extra_keys", listed}}));
  EXPECT_THAT(both.extras, ElementsAre(adapter("ad1")));
  EXPECT_THAT(field.extras, ElementsAre(adapter("ad1")));
  EXPECT_EQ(both.adapter, "ad1");
  EXPECT_THAT(keys.extras, ElementsAre(salt("ad1")));  // a salt of that text
}

TEST(KvEventDecoder, a_salt_differs_from_an_adapter_and_from_a_number) {
  const auto extras_of = [](const Packed& key) {
    return decode_one(stored_map({{"extra_keys", fakes::array({fakes::array({key})})}}))
        .extras.at(0);
  };
  EXPECT_EQ(extras_of(fakes::text("a")), salt("a"));
  EXPECT_NE(extras_of(fakes::text("a")), extras_of(fakes::binary("a")));
  EXPECT_NE(extras_of(fakes::text("a")), adapter("a"));
  EXPECT_NE(extras_of(fakes::array({fakes::text("image"), fakes::number(3)})),
            extras_of(fakes::array({fakes::text("image"), fakes::number(4)})));
}

TEST(KvEventDecoder, old_engines_name_adapters_by_number) {
  const auto one = decode_one(stored_map({{"lora_id", fakes::number(1)}}));
  const auto two = decode_one(stored_map({{"lora_id", fakes::number(2)}}));
  ASSERT_EQ(one.extras.size(), 1U);
  EXPECT_NE(one.extras, two.extras);
}

TEST(KvEventDecoder, sglang_salts_the_first_block_of_a_root) {
  const auto root = decode_one(stored_map({{"cache_salt", fakes::text("tenant")}}));
  EXPECT_THAT(root.extras, ElementsAre(salt("tenant")));
  const auto later = decode_one(
      stored_map({{"cache_salt", fakes::text("tenant")}, {"parent_block_hash", fakes::number(9)}}));
  EXPECT_THAT(later.extras, IsEmpty());
  const auto positional = decode_one(
      fakes::array({fakes::text("BlockStored"), fakes::numbers({7}), fakes::nil(),
                    fakes::numbers({1, 2}), fakes::number(2), fakes::nil(), fakes::text("GPU"),
                    fakes::map({{"cache_salt", fakes::text("tenant")}})}));
  EXPECT_THAT(positional.extras, ElementsAre(salt("tenant")));
}

TEST(KvEventDecoder, extra_keys_may_list_fewer_or_more_blocks_than_there_are) {
  const Packed many = fakes::array({fakes::array({fakes::text("a")}), fakes::array({})});
  EXPECT_THAT(decode_one(stored_map({{"extra_keys", many}})).extras, ElementsAre(salt("a")));
  const auto two =
      decode_one(stored_map({{"block_hashes", fakes::numbers({7, 8})},
                             {"extra_keys", fakes::array({fakes::array({fakes::text("a")})})}}));
  EXPECT_THAT(two.extras, ElementsAre(salt("a"), ExtraDigest::kNone));
}

TEST(KvEventDecoder, sparse_and_offload_events_pass_with_their_lengths) {
  const auto sparse = decode_one(stored_map({{"block_hashes", fakes::array({})}}));
  EXPECT_THAT(sparse.hashes, IsEmpty());
  EXPECT_EQ(sparse.tokens.size(), 2U);
  const auto offload =
      decode_one(stored_map({{"token_ids", fakes::array({})}, {"block_size", fakes::number(0)}}));
  EXPECT_EQ(offload.block_size, 0U);
  EXPECT_THAT(offload.tokens, IsEmpty());
}

TEST(KvEventDecoder, reads_the_request_that_caused_the_store) {
  EXPECT_EQ(decode_one(stored_map({{"session_id", fakes::text("conv-1")}})).session_id, "conv-1");
}

TEST(KvEventDecoder, reads_what_every_vllm_release_publishes) {
  for (const char* release : {"0.16.0", "0.20.0", "0.24.0", "0.28.0", "0.32.0"}) {
    const auto lines =
        fakes::load_recorded_messages(std::string("vllm-publishers/wire_") + release + ".jsonl");
    ASSERT_GE(lines.size(), 5U);
    std::vector<CollectedEvents::Event> events;
    for (std::size_t i = 0; i < 5; ++i) {
      const Decoded decoded = decode(lines[i].frames[2]);
      EXPECT_EQ(decoded.summary.malformed + decoded.summary.unknown, 0U) << release;
      events.insert(events.end(), decoded.events.begin(), decoded.events.end());
    }
    ASSERT_EQ(events.size(), 5U) << release;
    EXPECT_THAT(events[0].hashes, ElementsAre(11, 0x8000000000000005ULL)) << release;
    EXPECT_THAT(events[1].hashes, ElementsAre(0x0101010101010101ULL, 0x0202020202020202ULL));
    EXPECT_EQ(events[1].parent, 0U);
    EXPECT_EQ(events[1].adapter, "ad1") << release;
    EXPECT_EQ(events[2].kind, Kind::kRemoved);
    EXPECT_EQ(events[3].kind, Kind::kCleared);
    EXPECT_EQ(events[4].scope.medium, Medium::kOther);
  }
}

}  // namespace
}  // namespace rolter::kvcache
