#include "rolter/simulator/trace.h"

#include <absl/container/flat_hash_map.h>
#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "rolter/base/random.h"
#include "rolter/simulator/logged_request.h"

namespace rolter::simulator {
namespace {

namespace dom = simdjson::dom;

constexpr double kTimestampTickSeconds = 3.0;
constexpr std::size_t kShrunkBlockTokens = kTraceBlockTokens / kTraceShrink;

/// Block ids of a trace, which may be any numbers, as small ones in the order of their appearance.
class BlockNumbers {
 public:
  [[nodiscard]] std::uint32_t of(std::uint64_t id) {
    return numbers_.try_emplace(id, static_cast<std::uint32_t>(numbers_.size())).first->second;
  }

 private:
  absl::flat_hash_map<std::uint64_t, std::uint32_t> numbers_;
};

/// The members both formats have; false when one is missing.
bool read_call(const dom::element& line, BlockNumbers& numbers, TraceCall& call) {
  std::uint64_t input = 0;
  std::uint64_t output = 0;
  dom::array ids;
  if (line["input_length"].get(input) != simdjson::SUCCESS ||
      line["output_length"].get(output) != simdjson::SUCCESS ||
      line["hash_ids"].get(ids) != simdjson::SUCCESS) {
    return false;
  }
  call.input_tokens = input;
  call.output_tokens = output;
  for (const dom::element id : ids) {
    std::uint64_t value = 0;
    if (id.get(value) != simdjson::SUCCESS) {
      return false;
    }
    call.blocks.push_back(numbers.of(value));
  }
  return true;
}

class TraceReader {
 public:
  explicit TraceReader(const TraceTiming& timing) : timing_(timing), rng_(timing.seed) {}

  /// Once one line was of the access log: whatever else is in it is no fault.
  [[nodiscard]] bool is_log() const { return is_log_; }

  /// False when the line is in no known format.
  bool add(const dom::element& line) {
    std::string_view event;
    if (line["event"].get(event) == simdjson::SUCCESS ||
        line["message"].get(event) == simdjson::SUCCESS) {
      is_log_ = true;
      add_logged(line);
      return true;
    }
    TraceCall call;
    if (!line.is_object() || !read_call(line, numbers_, call)) {
      return false;
    }
    std::string_view session;
    if (line["session_id"].get(session) == simdjson::SUCCESS) {
      return add_to_session(line, std::string(session), std::move(call));
    }
    double timestamp_ms = 0.0;
    if (line["timestamp"].get(timestamp_ms) != simdjson::SUCCESS) {
      return false;
    }
    TraceChain& chain = chains_.emplace_back();
    chain.start_s = timestamp_ms / 1000.0 + uniform_unit(rng_) * kTimestampTickSeconds;
    chain.calls.push_back(std::move(call));
    return true;
  }

  std::vector<TraceChain> finish() {
    if (first_logged_s_ != kNone) {
      for (TraceChain& chain : chains_) {
        chain.start_s -= first_logged_s_;
      }
    }
    std::ranges::sort(chains_, {}, &TraceChain::start_s);
    return std::move(chains_);
  }

 private:
  /// Other lines of the log than those of requests with blocks are passed over.
  void add_logged(const dom::element& line) {
    LogLine log;
    std::uint64_t prompt_bytes = 0;
    std::uint64_t completion_tokens = 1;
    if (line["time"].get(log.time) != simdjson::SUCCESS ||
        line["blocks"].get(log.blocks) != simdjson::SUCCESS ||
        line["duration_ms"].get(log.duration_ms) != simdjson::SUCCESS ||
        line["prompt_bytes"].get(prompt_bytes) != simdjson::SUCCESS) {
      return;
    }
    const auto request = read_logged_request(log);
    if (!request) {
      return;
    }
    if (line["completion_tokens"].get(completion_tokens) != simdjson::SUCCESS) {
      completion_tokens = 1;
    }
    TraceChain& chain = chains_.emplace_back();
    chain.start_s = request->came_s;
    TraceCall& call = chain.calls.emplace_back();
    call.input_tokens = prompt_bytes / kLoggedTokenBytes;
    call.output_tokens = completion_tokens;
    for (const std::uint64_t digest : request->digests) {
      call.blocks.push_back(numbers_.of(digest));
    }
    first_logged_s_ = std::min(first_logged_s_, request->came_s);
  }

  bool add_to_session(const dom::element& line, const std::string& session, TraceCall call) {
    std::int64_t stream = 0;
    double delay_ms = 0.0;
    if (line["stream"].get(stream) != simdjson::SUCCESS ||
        line["delay_ms"].get(delay_ms) != simdjson::SUCCESS) {
      return false;
    }
    call.delay_s = std::min(delay_ms / 1000.0, kLongestThinkSeconds);
    if (!session_starts_.contains(session)) {
      next_start_ += -std::log1p(-uniform_unit(rng_)) / timing_.sessions_per_s;
      session_starts_.emplace(session, next_start_);
    }
    const auto [position, added] =
        chain_of_.emplace(session + "/" + std::to_string(stream), chains_.size());
    if (added) {
      chains_.emplace_back().start_s = session_starts_[session];
    }
    chains_[position->second].calls.push_back(std::move(call));
    return true;
  }

  TraceTiming timing_;
  BlockNumbers numbers_;
  Rng rng_;
  std::vector<TraceChain> chains_;
  absl::flat_hash_map<std::string, double> session_starts_;
  absl::flat_hash_map<std::string, std::size_t> chain_of_;
  double next_start_ = 0.0;
  bool is_log_ = false;
  static constexpr double kNone = std::numeric_limits<double>::infinity();
  double first_logged_s_ = kNone;
};

}  // namespace

Result<std::vector<TraceChain>> read_trace(std::string_view json_lines, const TraceTiming& timing) {
  TraceReader reader(timing);
  dom::parser parser;
  for (std::size_t number = 1; !json_lines.empty(); ++number) {
    const std::string_view line = json_lines.substr(0, json_lines.find('\n'));
    json_lines.remove_prefix(std::min(json_lines.size(), line.size() + 1));
    if (line.empty()) {
      continue;
    }
    dom::element value;
    const bool is_json = parser.parse(line.data(), line.size()).get(value) == simdjson::SUCCESS;
    if ((!is_json || !reader.add(value)) && number > 1 && !reader.is_log()) {
      return fail(
          ErrorKind::kInvalidInput,
          "line " + std::to_string(number) +
              " of the trace is neither Mooncake's (timestamp, input_length, "
              "output_length, hash_ids) nor a session's (session_id, stream, delay_ms) nor of "
              "Rolter's access log");
    }
  }
  std::vector<TraceChain> chains = reader.finish();
  if (chains.empty()) {
    return fail(ErrorKind::kInvalidInput,
                "the trace has no request; lines of Rolter's access log are some when [log] blocks "
                "is true");
  }
  return chains;
}

std::string shrunk_prompt(const TraceCall& call) {
  const std::size_t tokens = std::max<std::size_t>(call.input_tokens / kTraceShrink, 1);
  std::string text;
  for (std::size_t i = 0; i * kShrunkBlockTokens < tokens; ++i) {
    // A prompt may be a little longer than its blocks; the rest is nobody else's.
    const std::uint64_t id = i < call.blocks.size() ? call.blocks[i] : ~std::uint64_t{i};
    Rng rng(id);
    const std::size_t words = std::min(kShrunkBlockTokens, tokens - i * kShrunkBlockTokens);
    for (std::size_t word = 0; word < words; ++word) {
      text.push_back(' ');
      for (int letter = 0; letter < 3; ++letter) {
        text.push_back(static_cast<char>('a' + uniform_index(rng, 26)));
      }
    }
  }
  return text;
}

std::size_t shrunk_output(const TraceCall& call) {
  return std::max<std::size_t>(call.output_tokens / kTraceShrink, 1);
}

}  // namespace rolter::simulator
