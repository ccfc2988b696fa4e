#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "rolter/simulator/trace.h"

namespace rolter::simulator::replay {

/// Requests of a made-up workload in blocks of 512 tokens, of which only full ones are shared; open
/// loop but for chat. Empty for a name that is none of generator_names().
///
/// gsp: 64 groups of 16 prompts with 2,048 shared and 128 own tokens, 256 out, all at once
///   (SGLang's generated-shared-prefix).
/// gsp_zipf: as many requests, groups drawn by Zipf's law, 10 a second (Poisson).
/// llmd_150: 150 groups of 5 prompts with 6,000 and 1,200 tokens, 1,000 out; llmd_83: 83 groups of
///   3 with 8,000 and 1,000 (llm-d's benchmark). Drawn at random on a ladder of Poisson rates from
///   2 to 10 a second, a minute each.
/// chat: 400 conversations of 6 turns, one beginning each second (Poisson); one of 8 system prompts
///   of 512 tokens, questions of 512, answers of 3,072, 20 s to think. The answers are part of what
///   replicas hold.
[[nodiscard]] std::vector<TraceChain> generate(std::string_view name, std::uint64_t seed);

[[nodiscard]] std::vector<std::string_view> generator_names();

}  // namespace rolter::simulator::replay
