#include "rolter/simulator/trace.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "rolter/simulator/tokenizer.h"
#include "tests/support/test_data.h"

namespace rolter::simulator {
namespace {

constexpr char kMooncake[] =
    R"({"timestamp": 3000, "input_length": 1100, "output_length": 500, "hash_ids": [0, 1, 70000000000]}
{"timestamp": 0, "input_length": 1024, "output_length": 10, "hash_ids": [0, 2]}
)";

constexpr char kSessions[] =
    R"({"n_shared": 1657, "block_size": 512}
{"session_id":"a","turn":0,"stream":0,"delay_ms":0,"input_length":600,"output_length":40,"hash_ids":[0,5]}
{"session_id":"a","turn":1,"stream":0,"delay_ms":400000,"input_length":700,"output_length":40,"hash_ids":[0,5]}
{"session_id":"a","turn":2,"stream":1,"delay_ms":1000,"input_length":700,"output_length":40,"hash_ids":[0,6]}
{"session_id":"b","turn":0,"stream":0,"delay_ms":0,"input_length":600,"output_length":40,"hash_ids":[9]}
)";

TEST(Trace, every_mooncake_request_is_a_chain_at_its_own_time) {
  const auto chains = read_trace(kMooncake, {});
  ASSERT_TRUE(chains) << chains.error().message;
  ASSERT_EQ(chains->size(), 2U);
  EXPECT_LT((*chains)[0].start_s, 3.0) << "ticks of three seconds are spread";
  EXPECT_GE((*chains)[1].start_s, 3.0);
  EXPECT_LT((*chains)[1].start_s, 6.0);
  EXPECT_EQ((*chains)[1].calls[0].blocks, (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ((*chains)[0].calls[0].blocks, (std::vector<std::uint32_t>{0, 3}))
      << "numbered as they appear, however large their ids";
}

TEST(Trace, sessions_are_chains_that_wait_for_their_own_answers) {
  const auto chains = read_trace(kSessions, {});
  ASSERT_TRUE(chains) << chains.error().message;
  ASSERT_EQ(chains->size(), 3U);
  std::multiset<std::size_t> lengths;
  for (const TraceChain& chain : *chains) {
    lengths.insert(chain.calls.size());
    if (chain.calls.size() == 2) {
      EXPECT_EQ(chain.calls[1].delay_s, 300.0) << "think times are cut at 300 s";
    }
  }
  EXPECT_EQ(lengths, (std::multiset<std::size_t>{1, 1, 2}));
}

TEST(Trace, rolter_s_own_log_is_one_when_it_has_blocks) {
  const auto chains = read_trace(
      R"({"time":"2026-11-30T07:53:40.000Z","level":"info","message":"hello"}
listening on http://127.0.0.1:4000
{"time":"2026-11-30T07:53:43.500Z","level":"info","event":"request","duration_ms":2500.000,"completion_tokens":7,"prompt_bytes":5000,"blocks":"00000000000000aaffffffffffffffff00000000000000bb"}
{"time":"2026-11-30T07:53:42.000Z","level":"info","event":"request","duration_ms":500.000,"prompt_bytes":2048,"blocks":"00000000000000aa"}
{"time":"2026-11-30T07:53:42.000Z","level":"info","event":"request","duration_ms":1.000,"status":404}
)",
      {});
  ASSERT_TRUE(chains) << chains.error().message;
  ASSERT_EQ(chains->size(), 2U);
  EXPECT_EQ((*chains)[0].start_s, 0.0);
  EXPECT_NEAR((*chains)[1].start_s, 0.5, 1e-6);
  const TraceCall& first = (*chains)[0].calls[0];
  EXPECT_EQ(first.input_tokens, 1'250U) << "the one that came first, though it ended later";
  EXPECT_EQ(first.output_tokens, 7U);
  EXPECT_EQ(first.blocks.size(), 3U);
  EXPECT_EQ((*chains)[1].calls[0].blocks, (std::vector<std::uint32_t>{first.blocks[0]}));
  EXPECT_FALSE(read_trace("{\"time\":\"\",\"level\":\"info\",\"event\":\"request\"}\n", {}));
}

TEST(Trace, the_same_seed_gives_the_same_starts) {
  const auto starts = [](std::uint64_t seed) {
    std::vector<double> starts;
    const auto chains = read_trace(kSessions, TraceTiming{seed, 0.02});
    for (const TraceChain& chain : *chains) {
      starts.push_back(chain.start_s);
    }
    return starts;
  };
  EXPECT_EQ(starts(3), starts(3));
  EXPECT_NE(starts(3), starts(4));
}

TEST(Trace, a_line_in_another_format_is_named) {
  const auto chains = read_trace(std::string(kMooncake) + "{\"x\":1}\n", {});
  ASSERT_FALSE(chains);
  EXPECT_NE(chains.error().message.find("line 3"), std::string::npos);
  EXPECT_FALSE(read_trace("", {}));
}

TEST(Trace, shrunk_prompts_share_exactly_the_blocks_that_the_trace_shares) {
  TraceCall first;
  first.input_tokens = 1100;  // two blocks and a bit: 34 tokens
  first.blocks = {0, 1, 7};
  TraceCall second;
  second.input_tokens = 1536;
  second.blocks = {0, 1, 8};
  const auto a = tokenize(shrunk_prompt(first));
  const auto b = tokenize(shrunk_prompt(second));
  ASSERT_EQ(a.size(), 34U);
  ASSERT_EQ(b.size(), 48U);
  EXPECT_TRUE(std::equal(a.begin(), a.begin() + 32, b.begin()));
  EXPECT_NE(a[32], b[32]);
  EXPECT_EQ(shrunk_prompt(first).size(), 34U * 4U) << "64 characters a block";
}

TEST(Trace, the_public_traces_can_be_read) {
  const char* shared = std::getenv("ROLTER_SHARED");
  const std::filesystem::path path = (shared != nullptr ? std::filesystem::path(shared)
                                                        : rolter::test_data() / "../../../shared") /
                                     "traces/mooncake_conversation_trace.jsonl";
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << "no public trace at " << path << "; set ROLTER_SHARED";
  }
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto chains = read_trace(text, {});
  ASSERT_TRUE(chains) << chains.error().message;
  EXPECT_EQ(chains->size(), 12'031U);
}

}  // namespace
}  // namespace rolter::simulator
