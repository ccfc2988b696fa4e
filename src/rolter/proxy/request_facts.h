#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rolter/balance/strategy.h"
#include "rolter/base/time.h"
#include "rolter/cluster/outcome.h"
#include "rolter/openai/request_view.h"
#include "rolter/openai/stream_observer.h"

namespace rolter::proxy {

inline constexpr std::size_t kNoRoute = static_cast<std::size_t>(-1);

/// The texts of every request's facts: their memory is used again.
struct RequestTexts {
  std::string request_id;
  std::string client;  // address
  std::string method;
  std::string path;  // without the query
  std::string model;
};

struct RequestFigures {
  std::string trace_id;       // of the caller's trace, 32 hexadecimal digits; "" = it has none
  std::string_view key_name;  // of the virtual key; lives as long as the configuration
  std::string limit_fields;   // x-ratelimit-* lines of the key, if it has limits
  std::optional<openai::Endpoint> endpoint;
  std::size_t route = kNoRoute;
  std::size_t target = 0;         // of the route; meaningful when `sent`
  std::string_view target_label;  // "provider/model"; lives as long as the configuration
  bool sent = false;              // some replica was sent the request
  balance::Decision decision;
  std::vector<balance::Score> scores;  // of the decision; empty unless somebody looks on
  std::string prompt_blocks;           // digests, 16 hexadecimal digits each; if they are logged
  std::uint64_t prompt_bytes = 0;      // of its text, beside those
  bool explains = false;               // the answer is to carry x-rolter-explain
  int status = 0;                      // as the client saw it; 0 = nothing was sent to it
  std::uint64_t bytes_in = 0;          // of the request's body
  std::uint64_t bytes_out = 0;         // of the answer, head and framing included
  std::uint32_t retries = 0;
  std::uint32_t heartbeats = 0;  // comments sent while the first byte was awaited
  TimePoint started;
  std::optional<Duration> ttft;  // to the first content
  Duration duration{};
  std::optional<openai::Usage> usage;
  std::optional<cluster::Outcome> outcome;  // of the last attempt
  bool client_gone = false;
  std::string error;  // cause in words, "" when all went well
};

/// What is known of one request when it has ended: the source of its access line and its metrics.
struct RequestFacts : RequestTexts, RequestFigures {
  /// As new, but for the memory of its texts.
  void clear();
};

/// Prompt tokens that the chosen replica was expected to find in its KV cache: as the strategy
/// counted them, else the matched share of what the replica reports. Absent while neither is known.
[[nodiscard]] std::optional<std::uint64_t> predicted_cached_tokens(const RequestFacts& facts);

/// How what was expected compares with what the replica reports to have found.
enum class PredictionVerdict : std::uint8_t {
  kEqual,
  kNear,  // within one block
  kHigh,
  kLow,
};
[[nodiscard]] std::string_view to_string(PredictionVerdict verdict);

/// Absent while the report, or the size of a block, is not known.
[[nodiscard]] std::optional<PredictionVerdict> judge_prediction(const RequestFacts& facts);

}  // namespace rolter::proxy
