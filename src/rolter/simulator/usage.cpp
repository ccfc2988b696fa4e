#include "rolter/simulator/usage.h"

#include <algorithm>

namespace rolter::simulator {

Usage usage_of(const EngineService& service, const Generation& generation,
               std::size_t choices_per_prompt) {
  Usage usage;
  usage.tokens = generation.counts(choices_per_prompt);
  usage.details = service.options().prompt_tokens_details;
  if (!generation.choices().empty()) {
    const Choice& first = generation.choices().front();
    const std::size_t block = service.options().limits.block_size;
    const std::size_t full = first.prompt_tokens / block * block;
    usage.created_cache_tokens = full - std::min(full, first.hit_tokens);
  }
  return usage;
}

void write_usage(JsonWriter& json, const Usage& usage, UsagePlace place) {
  json.object("usage");
  json.number("prompt_tokens", usage.tokens.prompt);
  json.number("total_tokens", usage.tokens.prompt + usage.tokens.completion);
  json.number("completion_tokens", usage.tokens.completion);
  if (place != UsagePlace::kRunning && usage.details) {
    json.object("prompt_tokens_details").number("cached_tokens", usage.tokens.hit);
    if (usage.created_cache_tokens) {
      json.number("created_cache_tokens", *usage.created_cache_tokens);
    } else {
      json.null("created_cache_tokens");
    }
    if (place == UsagePlace::kWhole) {
      json.null("multimodal_tokens");
    }
    json.end();
  } else if (place == UsagePlace::kWhole) {
    json.null("prompt_tokens_details");
  }
  if (place != UsagePlace::kLastEvent) {
    json.null("completion_tokens_details");
  }
  json.end();
}

}  // namespace rolter::simulator
