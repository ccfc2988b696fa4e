#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "rolter/simulator/api_fault.h"
#include "rolter/simulator/request_body.h"

namespace rolter::simulator {

/// What the generating APIs have in common. Sampling parameters do not matter to a script; those
/// that vLLM would refuse are refused.
struct GenerateOptions {
  std::string model;  // "" = not given, which vLLM accepts
  bool stream = false;
  bool include_usage = false;
  bool continuous_usage = false;
  std::optional<std::int64_t> max_tokens;
  std::size_t min_tokens = 0;
  std::size_t n = 1;
  bool ignore_eos = false;
  std::uint64_t seed = 0;
  bool return_token_ids = false;
  std::string cache_salt;
  std::string session_id;  // of the body; the header X-Session-ID counts when absent
  std::string request_id;  // idem, X-Request-Id
  bool announce_hits = false;
};

[[nodiscard]] Parsed<GenerateOptions> read_generate_options(const JsonValue& body);

/// How many tokens may be generated behind a prompt: `max_tokens`, else `otherwise`, else what the
/// context leaves; never more than that. Errors in vLLM's words.
struct TokenBudget {
  std::optional<std::int64_t> max_tokens;
  std::optional<std::size_t> otherwise;
  std::size_t context = 0;
};
[[nodiscard]] Parsed<std::size_t> reply_limit(const TokenBudget& budget, std::size_t prompt_tokens);

}  // namespace rolter::simulator
