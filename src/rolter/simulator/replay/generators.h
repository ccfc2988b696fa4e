#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "rolter/simulator/trace.h"

namespace rolter::simulator::replay {

/// Requests of a made-up workload, open loop, in blocks of 512 tokens of which only full ones are
/// shared. Empty for a name that is none of generator_names().
///
/// gsp: 64 groups of 16 prompts with 2,048 shared and 128 own tokens, 256 out, all at once
///   (SGLang's generated-shared-prefix).
/// gsp_zipf: as many requests, groups drawn by Zipf's law, 10 a second (Poisson).
/// llmd_150: 150 groups of 5 prompts with 6,000 and 1,200 tokens, 1,000 out; llmd_83: 83 groups of
///   3 with 8,000 and 1,000 (llm-d's benchmark). Drawn at random on a ladder of Poisson rates from
///   2 to 10 a second, a minute each.
[[nodiscard]] std::vector<TraceChain> generate(std::string_view name, std::uint64_t seed);

[[nodiscard]] std::vector<std::string_view> generator_names();

}  // namespace rolter::simulator::replay
