// Recordings of a real vLLM 0.32.0, fed to the decoder and the index: what the index then predicts
// must be what the engine reported. tests/data/vllm-0.32 holds the recordings and the prompts.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "rolter/kvcache/block_index.h"
#include "rolter/kvcache/kv_event_decoder.h"
#include "tests/fakes/recorded_messages.h"
#include "tests/fakes/stored_blocks.h"
#include "tests/support/test_data.h"

namespace rolter::kvcache {
namespace {

constexpr std::uint32_t kBlockSize = 32;

const std::map<std::string, std::vector<TokenId>>& prompts() {
  static const auto all = [] {
    std::map<std::string, std::vector<TokenId>> loaded;
    std::ifstream file(rolter::test_data() / "vllm-0.32/prompts.txt");
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::string label;
      words >> label;
      auto& ids = loaded[label];
      for (TokenId id = 0; words >> id;) {
        ids.push_back(id);
      }
    }
    return loaded;
  }();
  return all;
}

std::vector<TokenId> prompt(std::initializer_list<const char*> parts) {
  std::vector<TokenId> ids;
  for (const char* part : parts) {
    const auto& more = prompts().at(part);
    ids.insert(ids.end(), more.begin(), more.end());
  }
  return ids;
}

/// One engine's history, played from its recordings.
class RecordedEngine : public testing::Test {
 protected:
  RecordedEngine() : stream(index.add_stream({}).value()) { index.set_usable(stream, true); }

  /// Applies messages [first, last) of a recording, or all that it has from `first` on.
  void play(const std::string& name, std::size_t first = 0, std::size_t last = 1'000'000) {
    const auto messages = fakes::load_recorded_messages("vllm-0.32/events/" + name + ".jsonl");
    for (std::size_t i = first; i < std::min(last, messages.size()); ++i) {
      auto batch = index.begin(stream);
      const auto summary = decoder.decode(fakes::as_payload(messages[i].frames.back()), batch);
      ASSERT_TRUE(summary.has_value());
      ASSERT_EQ(summary->malformed + summary->unknown, 0U) << name;
    }
  }

  std::uint32_t resident(const std::vector<TokenId>& ids, const PromptExtras& extras = {}) const {
    return fakes::resident(index, stream, ids, kBlockSize, extras);
  }

  /// What an engine in the state we know of reports as cached: never the whole prompt, since the
  /// last token is always computed.
  int predicted(const std::vector<TokenId>& ids, const PromptExtras& extras = {}) const {
    const auto most = static_cast<std::uint32_t>((ids.size() - 1) / kBlockSize);
    return static_cast<int>(std::min(resident(ids, extras), most) * kBlockSize);
  }

  static int reported(const std::string& name, const std::string& label) {
    for (const auto& line : fakes::load_recorded_lines("vllm-0.32/events/" + name + ".jsonl")) {
      if (line.label == label && line.response.size() == 4) {
        return line.response[2];
      }
    }
    return -1;
  }

  std::size_t blocks() const { return index.stats(stream).blocks; }
  BlockCounters counters() const { return index.stats(stream).counters; }

  BlockIndex index;
  KvEventDecoder decoder;
  StreamId stream;
};

TEST_F(RecordedEngine, predicts_the_cached_tokens_of_every_request_of_the_first_engine) {
  const auto a = prompt({"A"});
  play("01_cold");
  EXPECT_EQ(blocks(), 6U);
  EXPECT_EQ(predicted(a), reported("02_warm_repeat", "same 200 tokens"));
  play("02_warm_repeat");
  EXPECT_EQ(counters().stored, 6U);
  EXPECT_EQ(predicted(prompt({"A", "A2"})), reported("03_longer_shared_prefix", "200 + 100 new"));
  play("03_longer_shared_prefix");
  EXPECT_EQ(resident(prompt({"A", "A2"})), 9U);
  play("04_concurrent_same_prefix");
  play("05_concurrent_one_call");
  EXPECT_EQ(blocks(), 9U + 12U + 12U);  // the shared 320 tokens once each
  EXPECT_EQ(resident(prompt({"B3", "B32"})), 11U);
  play("06_decode_boundaries");
  EXPECT_EQ(blocks(), 36U);

  const auto d = prompt({"D"});
  const std::string aligned = "07_block_aligned_prompt";
  EXPECT_EQ(predicted(d), reported(aligned, "64 tokens cold"));
  play(aligned, 0, 1);
  EXPECT_EQ(predicted(d), reported(aligned, "64 tokens warm"));
  play(aligned, 1);
  EXPECT_EQ(blocks(), 38U);  // the second block twice
  auto longer = d;
  longer.push_back(777);
  EXPECT_EQ(predicted(longer), reported(aligned, "65 tokens"));

  const PromptExtras tenant_a{.adapter = {}, .cache_salt = "tenant-a"};
  const PromptExtras tenant_b{.adapter = {}, .cache_salt = "tenant-b"};
  EXPECT_EQ(predicted(a, tenant_a), reported("08_cache_salt", "A with salt tenant-a"));
  play("08_cache_salt", 0, 1);
  EXPECT_EQ(predicted(a, tenant_a), reported("08_cache_salt", "again"));
  EXPECT_EQ(predicted(a, tenant_b), reported("08_cache_salt", "salt tenant-b"));
  play("08_cache_salt", 1);
  EXPECT_EQ(resident(a, tenant_b), 6U);

  play("09_n2");
  EXPECT_EQ(resident(prompt({"E"})), 2U);
  play("10_session_id");
  EXPECT_EQ(predicted(a),
            reported("11_report_mode_full", "vllm_xargs kv_cache_report_mode=full on warm A"));
  play("11_report_mode_full");
  EXPECT_EQ(resident(prompt({"A", "A9"})), 8U);
  play("12_short_prompt_no_event");
  EXPECT_EQ(resident(prompt({"G"})), 0U);
  EXPECT_EQ(counters().conflicting_events + counters().parked + counters().ignored_events, 0U);

  play("13_reset_prefix_cache_idle");
  EXPECT_EQ(counters().cleared, 1U);
  EXPECT_EQ(blocks(), 6U);
  const std::string reset = "14_reset_while_running";
  play(reset, 0, 19);
  EXPECT_EQ(predicted(prompt({"H"})), reported(reset, "prefix after"));
  play(reset, 19);
  EXPECT_EQ(counters().cleared, 2U);
  EXPECT_EQ(resident(a), 0U);
}

TEST_F(RecordedEngine, predicts_cached_tokens_while_the_engine_evicts) {
  const std::string eviction = "31_eviction";
  play("30_topic_kv-events_sub_same");
  EXPECT_EQ(predicted(prompt({"ev0"})), reported(eviction, "p0 300 tokens"));
  play(eviction, 0, 6);
  EXPECT_EQ(predicted(prompt({"ev0"})), reported(eviction, "p0 again"));
  play(eviction, 6);
  EXPECT_EQ(predicted(prompt({"ev2"})), reported(eviction, "p2 again"));
  play("32_chunked_prefill");
  EXPECT_EQ(resident(prompt({"ch"})), 15U);

  const std::string duplicate = "33_duplicate_then_evict";
  const auto d = prompt({"dup"});
  EXPECT_EQ(predicted(d), reported(duplicate, "D 64 cold"));
  play(duplicate, 0, 1);
  EXPECT_EQ(predicted(d), reported(duplicate, "D 64 warm (last block recomputed)"));
  play(duplicate, 1);
  auto longer = d;
  longer.push_back(777);
  EXPECT_EQ(predicted(longer), reported(duplicate, "D+1 after BlockRemoved of its 2nd block"));

  play("34_preemption_and_waiting");
  play("35_abort_mid_decode", 0, 4);
  EXPECT_EQ(predicted(prompt({"abt"})),
            reported("35_abort_mid_decode", "prompt of the aborted request again (100 tokens)"));
  // --num-gpu-blocks-override 24, one of which vLLM keeps for itself.
  EXPECT_LE(blocks(), 23U);
  EXPECT_EQ(counters().unknown_removals + counters().conflicting_events + counters().parked, 0U);
}

TEST_F(RecordedEngine, keeps_an_adapter_apart_from_its_base_model) {
  const auto ids = prompt({"lora"});
  const PromptExtras ad1{.adapter = "ad1", .cache_salt = {}};
  play("22_lora", 0, 1);
  EXPECT_EQ(predicted(ids, ad1), reported("22_lora", "ad1"));
  play("22_lora", 1, 2);
  EXPECT_EQ(predicted(ids, ad1), reported("22_lora", "ad1 again"));
  EXPECT_EQ(predicted(ids), reported("22_lora", "base again"));
  EXPECT_EQ(resident(ids, {.adapter = "ad2", .cache_salt = {}}), 0U);
}

TEST_F(RecordedEngine, follows_binary_hashes_chunk_by_chunk_through_aborts) {
  play("41_bytes_hash_cbor");
  EXPECT_EQ(blocks(), 3U);
  play("42_slow_prefill_stream");
  EXPECT_EQ(blocks(), 3U + 59U);
  play("43_abort_before_first_byte", 0, 5);  // the client leaves after the fourth chunk
  EXPECT_EQ(resident(prompt({"slow2"})), 40U);
  play("43_abort_before_first_byte", 5);
  EXPECT_EQ(resident(prompt({"slow2"})), 59U);
  play("44_abort_nonstream_before_answer");
  EXPECT_EQ(blocks(), 3U + 59U + 59U + 40U);
  play("45_concurrent_same_prefix_slow");
  EXPECT_EQ(blocks(), 3U + 59U + 59U + 40U + 39U);
  EXPECT_EQ(resident(prompt({"slow4"})), 37U);
  EXPECT_EQ(counters().parked, 0U);
}

TEST_F(RecordedEngine, each_data_parallel_rank_has_blocks_of_its_own) {
  play("50_dp2_rank0");
  EXPECT_EQ(blocks(), 9U);
  stream = index.add_stream({.rank = 1}).value();
  play("50_dp2_rank1");
  EXPECT_EQ(blocks(), 9U);
  EXPECT_EQ(index.stats().blocks, 18U);
}

TEST_F(RecordedEngine, a_hybrid_model_is_known_by_its_full_attention_group) {
  play("51_hybrid_sliding_window", 0, 1);
  EXPECT_EQ(blocks(), 12U);
  std::vector<BlockIndex::StreamView> views;
  const BlockIndex::ReplicaQuery query{.replica = ReplicaSlot{0}, .model = {}};
  index.streams_of({&query, 1}, views);
  EXPECT_TRUE(views.at(0).hybrid);
  EXPECT_EQ(views.at(0).block_size, kBlockSize);
  play("51_hybrid_sliding_window", 1, 9);
  EXPECT_EQ(blocks(), 12U + 7U);  // a prompt of 40 and 200 decoded tokens
  play("51_hybrid_sliding_window", 9);
  EXPECT_EQ(blocks(), 1U);  // cleared, then a new prompt
  EXPECT_EQ(counters().conflicting_events + counters().parked, 0U);
}

TEST_F(RecordedEngine, a_replay_of_the_whole_history_gives_the_engines_final_state) {
  for (const auto& message :
       fakes::load_recorded_messages("vllm-0.32/replay/dealer_from_0.jsonl")) {
    if (message.frames.back().empty()) {
      continue;  // the end marker
    }
    auto batch = index.begin(stream);
    ASSERT_TRUE(decoder.decode(fakes::as_payload(message.frames.back()), batch).has_value());
  }
  EXPECT_EQ(counters().cleared, 2U);
  EXPECT_EQ(counters().unknown_removals + counters().conflicting_events + counters().parked, 0U);
  EXPECT_EQ(blocks(), 43U);
}

}  // namespace
}  // namespace rolter::kvcache
