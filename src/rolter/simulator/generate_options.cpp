#include "rolter/simulator/generate_options.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>

namespace rolter::simulator {
namespace {

constexpr std::int64_t kMostChoices = 16'384;  // vLLM: VLLM_MAX_N_SEQUENCES
constexpr std::size_t kLongestSalt = 1'024;

std::optional<std::int64_t> first_of(const JsonValue& body,
                                     std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (const auto value = integer_member(body, key)) {
      return value;
    }
  }
  return std::nullopt;
}

Parsed<void> check_sampling(const JsonValue& body) {
  const double temperature = number_member(body, "temperature").value_or(0.0);
  if (temperature < 0.0) {
    return std::unexpected(
        bad_parameter("temperature", fmt::format("{:.1f}", temperature),
                      fmt::format("temperature must be non-negative, got {:.1f}.", temperature)));
  }
  const std::int64_t n = integer_member(body, "n").value_or(1);
  if (n < 1 || n > kMostChoices) {
    return std::unexpected(
        bad_parameter("n", std::to_string(n), fmt::format("n must be at least 1, got {}.", n)));
  }
  return {};
}

void read_stream_options(const JsonValue& body, GenerateOptions& options) {
  options.stream = flag_member(body, "stream");
  simdjson::dom::element stream_options;
  if (body["stream_options"].get(stream_options) == simdjson::SUCCESS) {
    options.include_usage = flag_member(stream_options, "include_usage");
    options.continuous_usage =
        options.include_usage && flag_member(stream_options, "continuous_usage_stats");
  }
}

}  // namespace

Parsed<GenerateOptions> read_generate_options(const JsonValue& body) {
  if (Parsed<void> checked = check_sampling(body); !checked) {
    return std::unexpected(std::move(checked.error()));
  }
  GenerateOptions options;
  options.model = text_member(body, "model");
  read_stream_options(body, options);
  options.max_tokens = first_of(body, {"max_completion_tokens", "max_output_tokens", "max_tokens"});
  options.min_tokens = static_cast<std::size_t>(
      std::max<std::int64_t>(first_of(body, {"min_tokens"}).value_or(0), 0));
  options.n = static_cast<std::size_t>(integer_member(body, "n").value_or(1));
  options.ignore_eos = flag_member(body, "ignore_eos");
  options.seed = static_cast<std::uint64_t>(integer_member(body, "seed").value_or(0));
  options.return_token_ids = flag_member(body, "return_token_ids");
  options.cache_salt = text_member(body, "cache_salt");
  if (options.cache_salt.size() > kLongestSalt) {
    return std::unexpected(invalid_field("cache_salt", "at most 1024 characters"));
  }
  options.session_id = text_member(body, "session_id");
  options.request_id = text_member(body, "request_id");
  simdjson::dom::element xargs;
  if (body["vllm_xargs"].get(xargs) == simdjson::SUCCESS) {
    options.announce_hits = text_member(xargs, "kv_cache_report_mode") == "full";
  }
  return options;
}

Parsed<std::size_t> reply_limit(const TokenBudget& budget, std::size_t prompt_tokens) {
  if (budget.max_tokens && *budget.max_tokens > static_cast<std::int64_t>(budget.context)) {
    return std::unexpected(bad_parameter(
        "max_tokens", std::to_string(*budget.max_tokens),
        fmt::format("max_tokens={} cannot be greater than max_model_len={}. Please request fewer "
                    "output tokens.",
                    *budget.max_tokens, budget.context)));
  }
  if (prompt_tokens > budget.context) {
    return std::unexpected(bad_parameter(
        "input_tokens", std::to_string(prompt_tokens),
        fmt::format("This model's maximum context length is {} tokens. However, your prompt "
                    "contains {} input tokens, which exceeds this limit even without any output "
                    "tokens. Please reduce the length of the input prompt.",
                    budget.context, prompt_tokens)));
  }
  const auto left = static_cast<std::int64_t>(budget.context - prompt_tokens);
  std::int64_t limit = left;
  if (budget.max_tokens) {
    limit = std::min(left, *budget.max_tokens);
  } else if (budget.otherwise) {
    limit = std::min(left, static_cast<std::int64_t>(*budget.otherwise));
  }
  if (limit < 1) {
    return std::unexpected(
        bad_parameter("max_tokens", std::to_string(limit),
                      fmt::format("max_tokens must be at least 1, got {}.", limit)));
  }
  return static_cast<std::size_t>(limit);
}

}  // namespace rolter::simulator
