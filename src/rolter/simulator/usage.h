#pragma once

#include <cstddef>
#include <optional>

#include "rolter/simulator/engine_service.h"
#include "rolter/simulator/generation.h"
#include "rolter/simulator/json_writer.h"

namespace rolter::simulator {

/// What an answer says about its tokens.
struct Usage {
  TokenCounts tokens;
  std::optional<std::size_t> created_cache_tokens;  // full blocks of the prompt, not cached before
  bool details = true;                              // the engine tells prompt_tokens_details
};

[[nodiscard]] Usage usage_of(const EngineService& service, const Generation& generation,
                             std::size_t choices_per_prompt);

/// Where the "usage" of chat and completions stands; vLLM leaves out different nulls.
enum class UsagePlace : std::uint8_t { kWhole, kLastEvent, kRunning };

void write_usage(JsonWriter& json, const Usage& usage, UsagePlace place);

}  // namespace rolter::simulator
