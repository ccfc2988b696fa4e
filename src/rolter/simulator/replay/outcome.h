#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace rolter::simulator::replay {

/// Blocks that were expected at the replica that was chosen, those it had, and those that were
/// both. Only of decisions that came with an expectation.
struct Forecast {
  std::uint64_t expected = 0;
  std::uint64_t found = 0;
  std::uint64_t both = 0;

  void add(std::size_t expected_blocks, std::size_t found_blocks) {
    expected += expected_blocks;
    found += found_blocks;
    both += std::min(expected_blocks, found_blocks);
  }

  /// Share of the expected blocks that were there, and of those there that were expected.
  [[nodiscard]] std::optional<double> precision() const { return share_of(expected); }
  [[nodiscard]] std::optional<double> recall() const { return share_of(found); }

 private:
  [[nodiscard]] std::optional<double> share_of(std::uint64_t whole) const {
    return whole == 0 ? std::nullopt
                      : std::optional(static_cast<double>(both) / static_cast<double>(whole));
  }
};

/// What one replica did.
struct ReplicaOutcome {
  std::uint64_t requests = 0;
  std::uint64_t computed_prefill_tokens = 0;
  Forecast forecast{};
  std::optional<std::size_t> believed_blocks{};  // that it holds, at the end
};

/// How a run went, by the engines' own account.
struct Outcome {
  std::uint64_t requests = 0;  // served
  std::uint64_t refused = 0;
  std::uint64_t follow_ups = 0;  // of a conversation, sent on
  std::uint64_t returned = 0;    // of these, to the replica of the call before
  std::uint64_t prompt_tokens = 0;
  std::uint64_t hit_tokens = 0;
  std::uint64_t generated_tokens = 0;
  double seconds = 0.0;          // of virtual time, first arrival to last token
  std::vector<double> ttft_s{};  // ascending
  Forecast forecast{};
  std::vector<ReplicaOutcome> replicas{};

  [[nodiscard]] double token_hit_rate() const {
    return prompt_tokens == 0
               ? 0.0
               : static_cast<double>(hit_tokens) / static_cast<double>(prompt_tokens);
  }

  [[nodiscard]] std::optional<double> returned_share() const {
    return follow_ups == 0
               ? std::nullopt
               : std::optional(static_cast<double>(returned) / static_cast<double>(follow_ups));
  }

  /// Most computed prefill of a replica over the mean: 1 = even.
  [[nodiscard]] double imbalance() const {
    std::uint64_t most = 0;
    std::uint64_t sum = 0;
    for (const ReplicaOutcome& replica : replicas) {
      most = std::max(most, replica.computed_prefill_tokens);
      sum += replica.computed_prefill_tokens;
    }
    return sum == 0 ? 1.0
                    : static_cast<double>(most) * static_cast<double>(replicas.size()) /
                          static_cast<double>(sum);
  }

  [[nodiscard]] double mean_ttft_s() const {
    double sum = 0.0;
    for (const double ttft : ttft_s) {
      sum += ttft;
    }
    return ttft_s.empty() ? 0.0 : sum / static_cast<double>(ttft_s.size());
  }
};

}  // namespace rolter::simulator::replay
