// Recordings of a real vLLM 0.32.0, published on real sockets: what the index then holds must be
// what the same recordings give when they are applied one after the other.
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "rolter/kvcache/kv_event_decoder.h"
#include "tests/fakes/recorded_messages.h"
#include "tests/integration/feeds/kv_feed_fixture.h"
#include "tests/support/test_data.h"

namespace rolter::feeds {
namespace {

using fakes::EventPublisher;
using kvcache::StreamState;

constexpr std::uint32_t kRecordedBlockSize = 32;

/// The payloads of these recordings, in order.
std::vector<std::string> payloads(const std::vector<std::string>& names) {
  std::vector<std::string> all;
  for (const std::string& name : names) {
    for (const auto& message : fakes::load_recorded_messages("vllm-0.32/" + name + ".jsonl")) {
      all.push_back(message.frames.back());
    }
  }
  return all;
}

/// All that the first engine did: 63 batches with two clears.
const std::vector<std::string>& first_engine() {
  static const auto all = payloads(
      {"events/01_cold", "events/03_longer_shared_prefix", "events/04_concurrent_same_prefix",
       "events/05_concurrent_one_call", "events/06_decode_boundaries",
       "events/07_block_aligned_prompt", "events/08_cache_salt", "events/09_n2",
       "events/10_session_id", "events/11_report_mode_full", "events/12_short_prompt_no_event",
       "events/13_reset_prefix_cache_idle", "events/14_reset_while_running",
       "events/15_chat_vs_tokenize", "events/16_chat_tools"});
  return all;
}

/// All that an engine with 23 blocks did: 85 batches full of evictions.
const std::vector<std::string>& small_engine() {
  static const auto all =
      payloads({"events/30_topic_kv-events_sub_same", "events/31_eviction",
                "events/32_chunked_prefill", "events/33_duplicate_then_evict",
                "events/34_preemption_and_waiting", "events/35_abort_mid_decode"});
  return all;
}

/// All that an engine with a slow model did, whose hashes are 32 bytes: 27 batches, with aborts.
const std::vector<std::string>& byte_hashing_engine() {
  static const auto all =
      payloads({"events/41_bytes_hash_cbor", "events/42_slow_prefill_stream",
                "events/43_abort_before_first_byte", "events/44_abort_nonstream_before_answer",
                "events/45_concurrent_same_prefix_slow"});
  return all;
}

std::vector<std::vector<TokenId>> prompts() {
  std::vector<std::vector<TokenId>> all;
  std::ifstream file(rolter::test_data() / "vllm-0.32/prompts.txt");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string label;
    words >> label;
    all.emplace_back(std::istream_iterator<TokenId>(words), std::istream_iterator<TokenId>());
  }
  return all;
}

class KvRecordings : public KvFeedTest {
 protected:
  /// What the index holds is what these batches leave behind, for every prompt of the recordings.
  void expect_state_after(const std::vector<std::string>& batches) {
    kvcache::BlockIndex oracle;
    const auto stream = oracle.add_stream({}).value();
    oracle.set_usable(stream, true);
    kvcache::KvEventDecoder decoder;
    for (const std::string& payload : batches) {
      auto batch = oracle.begin(stream);
      ASSERT_TRUE(decoder.decode(fakes::as_payload(payload), batch));
    }
    EXPECT_EQ(status().blocks, oracle.stats(stream).blocks);
    EXPECT_EQ(status().parked, 0U);
    EXPECT_EQ(status().unknown_events + status().malformed_events, 0U);
    for (const auto& prompt : prompts()) {
      for (const kvcache::PromptExtras& extras : std::initializer_list<kvcache::PromptExtras>{
               {}, {.cache_salt = "tenant-a"}, {.cache_salt = "tenant-b"}, {.adapter = "ad1"}}) {
        EXPECT_EQ(resident(prompt, kRecordedBlockSize, extras),
                  fakes::resident(oracle, stream, prompt, kRecordedBlockSize, extras));
      }
    }
  }

  void publish(EventPublisher& engine, const std::vector<std::string>& batches, std::size_t first,
               std::size_t last) {
    for (std::size_t i = first; i < std::min(last, batches.size()); ++i) {
      engine.publish(batches[i]);
    }
  }
};

TEST_F(KvRecordings, a_joiner_at_any_time_ends_in_the_engines_state) {
  ASSERT_EQ(first_engine().size(), 63U);
  for (const std::size_t joined_after : {0U, 1U, 22U, 62U}) {
    EventPublisher engine;
    publish(engine, first_engine(), 0, joined_after);
    follow({source_of(engine)});
    publish(engine, first_engine(), joined_after, 63);
    await_batches(63);
    EXPECT_EQ(status().state, StreamState::kLive);
    EXPECT_EQ(status().block_counters.cleared, 2U);
    expect_state_after(first_engine());
    follow({});
  }
}

TEST_F(KvRecordings, lost_batches_come_back_by_replay) {
  EventPublisher engine;
  follow({source_of(engine)});
  await_state(StreamState::kLive);
  for (std::size_t i = 0; i < small_engine().size(); ++i) {
    if (i % 7 == 3 || (i > 40 && i < 50)) {
      engine.lose(small_engine()[i]);
    } else {
      engine.publish(small_engine()[i]);
    }
  }
  await_batches(small_engine().size());
  EXPECT_GT(status().batches.gaps, 0U);
  EXPECT_EQ(status().batches.holes, 0U);
  EXPECT_LE(status().blocks, 23U) << "the engine has no more";
  EXPECT_EQ(status().block_counters.unknown_removals, 0U);
  expect_state_after(small_engine());
}

TEST_F(KvRecordings, a_restart_in_the_middle_leaves_only_what_the_new_process_has) {
  EventPublisher engine;
  publish(engine, first_engine(), 0, 20);
  follow({source_of(engine)});
  publish(engine, first_engine(), 20, 40);
  await_batches(40);
  engine.restart();
  publish(engine, small_engine(), 0, 60);
  await_batches(40 + 60);
  publish(engine, small_engine(), 60, 85);
  await_batches(40 + 85);
  EXPECT_EQ(status().batches.restarts, 1U);
  EXPECT_EQ(status().state, StreamState::kLive);
  expect_state_after(small_engine());
}

TEST_F(KvRecordings, a_process_with_another_kind_of_hashes_may_follow_in_the_same_place) {
  ASSERT_EQ(byte_hashing_engine().size(), 27U);
  EventPublisher engine;
  publish(engine, first_engine(), 0, 30);
  follow({source_of(engine)});
  await_batches(30);
  engine.restart();
  publish(engine, byte_hashing_engine(), 0, 9);
  await_batches(30 + 9);
  publish(engine, byte_hashing_engine(), 9, 27);
  await_batches(30 + 27);
  EXPECT_EQ(status().batches.restarts, 1U);
  expect_state_after(byte_hashing_engine());
}

TEST_F(KvRecordings, the_recorded_restart_of_an_engine_is_followed) {
  const auto recorded = payloads({"events/20_restart_sub_stays"});
  ASSERT_EQ(recorded.size(), 5U);  // one of the old process, then four from 0 on
  EventPublisher engine;
  engine.publish(recorded[0]);
  follow({source_of(engine)});
  await_batches(1);
  engine.restart();
  for (std::size_t i = 1; i < recorded.size(); ++i) {
    engine.publish(recorded[i]);
  }
  await_batches(5);
  EXPECT_EQ(status().batches.restarts, 1U);
  expect_state_after({recorded.begin() + 1, recorded.end()});
  const kvcache::PromptExtras adapter{.adapter = "ad1"};
  EXPECT_TRUE(std::ranges::any_of(prompts(), [&](const auto& prompt) {
    return resident(prompt, kRecordedBlockSize, adapter) > 0;
  })) << "the new process was asked for its adapter as well";
}

TEST_F(KvRecordings, cut_connections_cost_nothing_but_time) {
  EventPublisher engine;
  follow({source_of(engine)});
  await_state(StreamState::kLive);
  for (const std::size_t cut_after : {10U, 23U, 60U}) {
    publish(engine, first_engine(), status().batches.batches, cut_after);
    await_batches(cut_after);
    engine.cut();
    await([&] { return !status().connected; }, "the loss");
    engine.lose(first_engine()[cut_after]);
    engine.come_back();
    await_batches(cut_after + 1);
  }
  publish(engine, first_engine(), 61, 63);
  await_batches(63);
  EXPECT_EQ(status().batches.restarts, 0U);
  expect_state_after(first_engine());
}

TEST_F(KvRecordings, both_ranks_of_a_data_parallel_engine_are_followed) {
  EventPublisher rank0;
  EventPublisher rank1;
  for (const std::string& payload : payloads({"events/50_dp2_rank0"})) {
    rank0.publish(payload);
  }
  for (const std::string& payload : payloads({"events/50_dp2_rank1"})) {
    rank1.publish(payload);
  }
  KvSource second = source_of(rank1);
  second.rank = 1;
  follow({source_of(rank0), second});
  await_batches(3, 0);
  await_batches(3, 1);
  EXPECT_EQ(status(0).blocks, 9U);
  EXPECT_EQ(status(1).blocks, 9U);
  EXPECT_EQ(index_.stats().blocks, 18U);
}

TEST_F(KvRecordings, a_hybrid_model_is_known_by_its_full_attention_group) {
  EventPublisher engine;
  const auto recorded = payloads({"events/51_hybrid_sliding_window"});
  publish(engine, recorded, 0, 9);
  follow({source_of(engine)});
  await_batches(9);
  EXPECT_EQ(status().blocks, 19U);
  EXPECT_TRUE(view()->hybrid);
  publish(engine, recorded, 9, 10);
  await_batches(10);
  EXPECT_EQ(status().blocks, 1U) << "cleared, then a new prompt";
}

}  // namespace
}  // namespace rolter::feeds
