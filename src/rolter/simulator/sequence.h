#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rolter/base/ids.h"
#include "rolter/base/time.h"
#include "rolter/simulator/block_pool.h"
#include "rolter/simulator/kv_event.h"

namespace rolter::simulator {

/// One generation inside an engine (a request with n = 2 is two of them). Never reused.
enum class SequenceId : std::uint64_t {};

enum class FinishReason : std::uint8_t {
  kStop,    // the model had said all
  kLength,  // max_tokens or the model's context length
  kAbort,   // cancelled
};

/// What is asked of the engine. The "model" is a script: the tokens it will sample, in order.
struct SequenceSpec {
  std::vector<TokenId> prompt;                       // 1 .. max_model_len - 1 tokens
  std::vector<TokenId> script;                       // sampled one by one; at least one
  FinishReason script_ends = FinishReason::kLength;  // why the last token of the script is the last
  std::string lora;                                  // adapter name, "" = base model
  std::uint32_t lora_id = 0;
  std::string cache_salt;
  std::string session_id;
  bool announce_hits = false;  // vllm_xargs.kv_cache_report_mode = "full"
};

/// A sequence's state in the scheduler and the KV cache.
struct Sequence {
  SequenceId id{};
  SequenceSpec spec;
  std::vector<TokenId> tokens;  // prompt, then what has been sampled
  std::size_t computed = 0;     // leading tokens whose KV exists (or will, after this step)
  std::optional<std::size_t> hit_tokens;  // prefix-cache hit at its first scheduling
  std::vector<BlockId> blocks;            // in order of position
  std::vector<BlockHash> hashes;          // of the full blocks of `tokens`, grown when needed
  std::size_t findable = 0;               // leading blocks that have their hash in the pool
  TimePoint next_token_due{};             // a decode takes part in steps from then on

  [[nodiscard]] std::size_t sampled() const { return tokens.size() - spec.prompt.size(); }
};

}  // namespace rolter::simulator
