#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rolter/base/error.h"

namespace rolter::simulator {

/// One request of a public trace: lengths, and prompts as ids of 512-token blocks, where equal ids
/// mean equal text and an equal prefix before it.
struct TraceCall {
  double delay_s = 0.0;  // after the end of the chain's call before
  std::size_t input_tokens = 0;
  std::size_t output_tokens = 0;
  std::vector<std::uint32_t> blocks;   // the last may be partial
  std::vector<std::uint32_t> reply{};  // blocks of the answer, where known: the engine keeps them
};

/// Calls that wait for each other, as one conversation's do.
struct TraceChain {
  double start_s = 0.0;
  std::vector<TraceCall> calls;
};

struct TraceTiming {
  std::uint64_t seed = 1;
  double sessions_per_s = 0.02;  // Poisson starts, for traces that have sessions but no starts
};

inline constexpr std::size_t kTraceBlockTokens = 512;
inline constexpr double kLongestThinkSeconds = 300.0;

/// Reads JSON lines in one of three formats, chains in the order of their starts:
/// - Mooncake (FAST'25): timestamp (ms), input_length, output_length, hash_ids. Open loop: a chain
///   per request. Timestamps are ticks of 3 s, so a uniform share of a tick is added.
/// - kv-cache-tester sessions: session_id, stream, delay_ms, lengths, hash_ids. Closed loop: a
/// chain
///   per session and stream, think times of at most 300 s, Poisson starts.
/// - Rolter's own access log in JSON, written with `[log] blocks = true`: open loop, each request
/// at
///   the time when it came. A block is 2,048 bytes of prompt, taken for 512 tokens of 4. What else
///   is in the log is passed over.
/// A line of none of these is passed over when it is the first (a header), else an error that names
/// it.
[[nodiscard]] Result<std::vector<TraceChain>> read_trace(std::string_view json_lines,
                                                         const TraceTiming& timing);

/// A call shrunk by 32 for engines with blocks of 16 tokens, so that block counts, hence hits and
/// evictions, stay exact: every trace block is 16 words of three letters drawn by its id, each one
/// token with the space before it.
inline constexpr std::size_t kTraceShrink = 32;
[[nodiscard]] std::string shrunk_prompt(const TraceCall& call);
[[nodiscard]] std::size_t shrunk_output(const TraceCall& call);

}  // namespace rolter::simulator
