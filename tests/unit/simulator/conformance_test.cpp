// Drives the simulated engine through the situations that were recorded from a real vLLM 0.32.0 and
// expects the same batches: kinds, order, counts, which hashes are equal, parents, token ids, keys.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "rolter/simulator/engine_core.h"
#include "rolter/simulator/event_encoding.h"
#include "tests/unit/simulator/recorded_events.h"

namespace rolter::simulator {
namespace {

using std::chrono::seconds;

std::vector<TokenId> operator+(std::vector<TokenId> left, const std::vector<TokenId>& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

/// An engine in virtual time whose events are compared with recordings, one after the other.
class Lab {
 public:
  explicit Lab(const SchedulerLimits& limits) : core_(limits, EngineSpeed{0.0, 0.0}) {}

  /// Compares with the first `messages` of a recording; 0 = all.
  void open(const std::string& recording, std::size_t messages = 0) {
    recording_name_ = recording;
    recording_ = load_recording(recording);
    if (messages > 0) {
      recording_.resize(messages);
    }
    batches_.clear();
  }

  /// What has been published since open() is what was recorded.
  void expect_recorded() {
    std::vector<std::string> want;
    std::vector<std::string> got;
    for (const RecordedBatch& message : recording_) {
      want.push_back(recorded_shapes_.describe(message.batch));
    }
    for (const EventBatch& batch : batches_) {
      got.push_back(shapes_.describe(batch));
    }
    EXPECT_EQ(got.size(), want.size()) << recording_name_;
    for (std::size_t i = 0; i < std::min(got.size(), want.size()); ++i) {
      ASSERT_EQ(got[i], want[i]) << recording_name_ << ", batch " << i;
    }
  }

  SequenceSpec spec(const std::vector<TokenId>& prompt, std::size_t max_tokens = 1) const {
    SequenceSpec spec;
    spec.prompt = prompt;
    spec.script = recorded_replies(recording_, prompt, max_tokens).front();
    return spec;
  }

  SequenceId submit(SequenceSpec spec) { return core_.submit(std::move(spec), now_); }

  /// Lets the engine finish everything. Returns the hit of the sequence that ended last.
  std::size_t drain() {
    while (core_.next_step_end()) {
      step();
    }
    now_ += seconds(1);
    return last_hit_;
  }

  std::size_t run(SequenceSpec spec) {
    submit(std::move(spec));
    return drain();
  }

  void step() {
    now_ = *core_.next_step_end();
    std::optional<StepResult> result = core_.poll(now_);
    for (const Sampled& token : result->sampled) {
      last_hit_ = token.hit_tokens;
      ++tokens_;
    }
    if (!result->events.empty()) {
      batches_.push_back(EventBatch{0.0, std::move(result->events), 0});
    }
  }

  void step_until_tokens(std::size_t tokens) {
    tokens_ = 0;
    while (tokens_ < tokens) {
      step();
    }
  }

  void abort(SequenceId id) { core_.abort(id, now_); }
  bool reset(Scheduler::ResetRunning running) { return core_.reset_prefix_cache(running, now_); }
  SchedulerStats stats() const { return core_.stats(); }
  std::size_t batch_count() const { return batches_.size(); }
  const std::vector<RecordedBatch>& recording() const { return recording_; }

 private:
  EngineCore core_;
  TimePoint now_{};
  std::string recording_name_;
  std::vector<RecordedBatch> recording_;
  std::vector<EventBatch> batches_;
  EventShapes shapes_;
  EventShapes recorded_shapes_;
  std::size_t last_hit_ = 0;
  std::size_t tokens_ = 0;
};

SchedulerLimits large_engine() {
  SchedulerLimits limits;
  limits.blocks = 65'536;
  limits.block_size = 32;
  limits.max_model_len = 2048;
  return limits;
}

SchedulerLimits small_engine() {
  SchedulerLimits limits;
  limits.blocks = 24;
  limits.block_size = 32;
  limits.max_step_tokens = 256;
  limits.max_model_len = 512;
  return limits;
}

void record_prefixes(Lab& lab) {
  const auto a = recorded_prompt("A");
  lab.open("01_cold");
  EXPECT_EQ(lab.run(lab.spec(a)), 0U);
  lab.expect_recorded();
  lab.open("02_warm_repeat");
  EXPECT_EQ(lab.run(lab.spec(a)), 192U);
  lab.expect_recorded();
  lab.open("03_longer_shared_prefix");
  EXPECT_EQ(lab.run(lab.spec(a + recorded_prompt("A2"))), 192U);
  lab.expect_recorded();
}

void record_concurrent(Lab& lab, const std::string& name, const std::string& shared) {
  lab.open(name);
  lab.submit(lab.spec(recorded_prompt(shared) + recorded_prompt(shared + "1")));
  EXPECT_EQ(lab.run(lab.spec(recorded_prompt(shared) + recorded_prompt(shared + "2"))), 320U);
  lab.expect_recorded();
}

void record_keys(Lab& lab) {
  const auto a = recorded_prompt("A");
  lab.open("08_cache_salt");
  SequenceSpec salted = lab.spec(a);
  salted.cache_salt = "tenant-a";
  EXPECT_EQ(lab.run(salted), 0U);
  EXPECT_EQ(lab.run(salted), 192U);
  salted.cache_salt = "tenant-b";
  EXPECT_EQ(lab.run(salted), 0U);
  lab.expect_recorded();

  lab.open("09_n2");
  const auto e = recorded_prompt("E");
  const auto replies = recorded_replies(lab.recording(), e, 40);
  ASSERT_EQ(replies.size(), 2U);
  for (const auto& reply : replies) {
    SequenceSpec sibling = lab.spec(e);
    sibling.script = reply;
    lab.submit(sibling);
  }
  EXPECT_EQ(lab.drain(), 64U);
  lab.expect_recorded();

  lab.open("10_session_id");
  for (const auto& [label, session] : {std::pair("F1", "sess-1"), std::pair("F2", "sess-2")}) {
    SequenceSpec spec = lab.spec(recorded_prompt(label));
    spec.session_id = session;
    lab.run(spec);
  }
  lab.expect_recorded();

  lab.open("11_report_mode_full");
  for (const auto& prompt : {a, a + recorded_prompt("A9")}) {
    SequenceSpec spec = lab.spec(prompt);
    spec.announce_hits = true;
    EXPECT_EQ(lab.run(spec), 192U);
  }
  lab.expect_recorded();
}

void record_block_borders(Lab& lab) {
  lab.open("06_decode_boundaries");
  lab.run(lab.spec(recorded_prompt("C"), 100));
  lab.expect_recorded();

  const auto d = recorded_prompt("D");
  lab.open("07_block_aligned_prompt");
  EXPECT_EQ(lab.run(lab.spec(d)), 0U);
  EXPECT_EQ(lab.run(lab.spec(d)), 32U);
  EXPECT_EQ(lab.run(lab.spec(d + std::vector<TokenId>{777})), 64U);
  lab.expect_recorded();
}

void record_resets(Lab& lab) {
  lab.open("12_short_prompt_no_event");
  lab.run(lab.spec(recorded_prompt("G"), 1));
  lab.run(lab.spec(recorded_prompt("G2"), 2));
  lab.run(lab.spec(recorded_prompt("G3"), 3));
  lab.expect_recorded();

  lab.open("13_reset_prefix_cache_idle");
  EXPECT_TRUE(lab.reset(Scheduler::ResetRunning::kNo));
  lab.drain();
  EXPECT_EQ(lab.batch_count(), 0U) << "the clear waits for the next batch";
  EXPECT_EQ(lab.run(lab.spec(recorded_prompt("A"))), 0U);
  lab.expect_recorded();

  const auto h = recorded_prompt("H");
  lab.open("14_reset_while_running");
  lab.submit(lab.spec(h, 600));
  lab.step_until_tokens(300);
  EXPECT_FALSE(lab.reset(Scheduler::ResetRunning::kNo));
  lab.drain();
  EXPECT_EQ(lab.run(lab.spec(h)), 96U);
  lab.submit(lab.spec(h, 600));
  // The recording was reset after the 10th full block: 320 tokens computed, 221 sampled.
  lab.step_until_tokens(221);
  EXPECT_TRUE(lab.reset(Scheduler::ResetRunning::kYes));
  EXPECT_EQ(lab.drain(), 96U) << "cached tokens are those of the first scheduling";
  lab.expect_recorded();
}

TEST(Conformance, a_large_cache_announces_what_vllm_announced) {
  Lab lab(large_engine());
  record_prefixes(lab);
  record_concurrent(lab, "04_concurrent_same_prefix", "B");
  record_concurrent(lab, "05_concurrent_one_call", "B3");
  record_block_borders(lab);
  record_keys(lab);
  record_resets(lab);
}

TEST(Conformance, adapters_have_chains_of_their_own) {
  Lab lab(large_engine());
  lab.open("22_lora", 2);  // what follows belongs to another experiment
  const SequenceSpec base = lab.spec(recorded_prompt("lora"));
  SequenceSpec adapter = base;
  adapter.lora = "ad1";
  adapter.lora_id = 1;
  EXPECT_EQ(lab.run(base), 0U);
  EXPECT_EQ(lab.run(adapter), 0U);
  EXPECT_EQ(lab.run(adapter), 96U);
  EXPECT_EQ(lab.run(base), 96U);
  lab.expect_recorded();
}

void record_eviction(Lab& lab) {
  lab.open("30_topic_kv-events_sub_same");
  lab.run(lab.spec(recorded_prompt("t")));
  lab.expect_recorded();

  lab.open("31_eviction");
  for (const char* label : {"ev0", "ev1", "ev2"}) {
    EXPECT_EQ(lab.run(lab.spec(recorded_prompt(label))), 0U);
  }
  EXPECT_EQ(lab.run(lab.spec(recorded_prompt("ev0"))), 128U);
  EXPECT_EQ(lab.run(lab.spec(recorded_prompt("ev2"))), 288U);
  lab.expect_recorded();

  lab.open("32_chunked_prefill");
  lab.run(lab.spec(recorded_prompt("ch")));
  lab.expect_recorded();

  const auto dup = recorded_prompt("dup");
  lab.open("33_duplicate_then_evict");
  lab.run(lab.spec(dup));
  EXPECT_EQ(lab.run(lab.spec(dup)), 32U);
  for (int i = 0; i < 20; ++i) {
    lab.run(lab.spec(recorded_prompt("fill" + std::to_string(i))));
  }
  EXPECT_EQ(lab.run(lab.spec(dup + std::vector<TokenId>{999})), 64U)
      << "the second copy outlives the removal of the first";
  lab.expect_recorded();
}

void record_preemption(Lab& lab) {
  lab.open("34_preemption_and_waiting");
  for (int i = 0; i < 4; ++i) {
    lab.submit(lab.spec(recorded_prompt("pre" + std::to_string(i)), 200));
  }
  lab.drain();
  EXPECT_EQ(lab.stats().preemptions, 3U);
  lab.expect_recorded();
}

void record_abort(Lab& lab) {
  const auto prompt = recorded_prompt("abt");
  lab.open("35_abort_mid_decode");
  const SequenceId id = lab.submit(lab.spec(prompt, 400));
  lab.step_until_tokens(60);
  lab.abort(id);
  lab.drain();
  EXPECT_EQ(lab.run(lab.spec(prompt)), 96U);
  lab.expect_recorded();
}

TEST(Conformance, a_small_cache_evicts_and_preempts_as_vllm_did) {
  Lab lab(small_engine());
  record_eviction(lab);
  record_preemption(lab);
  record_abort(lab);
}

TEST(Conformance, an_abort_in_prefill_keeps_the_chunks_that_were_computed) {
  SchedulerLimits limits = large_engine();
  limits.max_step_tokens = 256;
  Lab lab(limits);
  lab.open("43_abort_before_first_byte");
  const auto prompt = recorded_prompt("slow2");
  const SequenceId id = lab.submit(lab.spec(prompt));
  for (int chunk = 0; chunk < 4; ++chunk) {
    lab.step();
  }
  lab.abort(id);  // in the fifth chunk, which still completes
  lab.drain();
  EXPECT_EQ(lab.batch_count(), 5U);
  EXPECT_EQ(lab.run(lab.spec(prompt)), 5U * 256U);
  lab.expect_recorded();
}

TEST(Conformance, a_prompt_that_arrives_mid_prefill_hits_the_blocks_of_the_first) {
  SchedulerLimits limits = large_engine();
  limits.max_step_tokens = 256;
  Lab lab(limits);
  lab.open("45_concurrent_same_prefix_slow");
  const auto shared = recorded_prompt("slow4");
  lab.submit(lab.spec(shared + recorded_prompt("a")));
  lab.step();
  EXPECT_EQ(lab.run(lab.spec(shared + recorded_prompt("b"))), 1184U);
  lab.expect_recorded();
}

TEST(Conformance, encoded_batches_are_byte_for_byte_what_vllm_sent) {
  for (const char* name :
       {"01_cold", "08_cache_salt", "10_session_id", "13_reset_prefix_cache_idle", "22_lora",
        "31_eviction", "34_preemption_and_waiting"}) {
    for (const RecordedBatch& message : load_recording(name)) {
      EXPECT_EQ(encode(message.batch, EventEncoding::kMap, HashEncoding::kInteger), message.payload)
          << name << " " << message.sequence;
    }
  }
}

}  // namespace
}  // namespace rolter::simulator
