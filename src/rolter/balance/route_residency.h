#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rolter/balance/choices.h"
#include "rolter/balance/strategy.h"
#include "rolter/base/random.h"
#include "rolter/kvcache/residency.h"

namespace rolter::balance {

/// How much of a prompt one target's engine holds: that of its best data-parallel rank.
struct Held {
  std::uint32_t blocks = 0;                // leading ones of the prompt
  std::uint32_t full_blocks = 0;           // the prompt has; 0 = nothing is known of the engine
  std::uint32_t block_size = 0;            // tokens
  std::optional<std::uint32_t> rank = {};  // absent when the engine has one only

  [[nodiscard]] double share() const {
    return full_blocks == 0 ? 0.0 : static_cast<double>(blocks) / full_blocks;
  }
  /// What the engine will take from its cache: it computes at least the last token (vLLM 0.32).
  [[nodiscard]] std::size_t cached_tokens(std::size_t prompt_tokens) const;
};

/// The exact residency of prompts as one route needs it. Any thread.
class RouteResidency final : private Record::Undo {
 public:
  /// `models` are the names by which the route's targets know the model: where one is a LoRA
  /// adapter's, its blocks are not the base model's.
  RouteResidency(std::shared_ptr<kvcache::Residency> residency, std::vector<std::string> models);

  /// For each eligible target. Nothing is known of a target without a usable stream of events or
  /// with an unknown block size, and of all targets when the prompt's ids are unknown or fill no
  /// block. `rng` decides between equal ranks. Allocates only while this thread's scratch memory
  /// grows.
  void match(const PickInput& in, Rng& rng, PerCandidate<Held>& held) const;

  /// The prompt goes to the chosen target's rank; if `optimistic`, it counts as held there from now
  /// on.
  [[nodiscard]] Record record(const PickInput& in, const Candidate& chosen, bool optimistic);

 private:
  void undo(std::uint64_t ticket) override;
  void ended(std::uint64_t ticket, TimePoint now) override;

  std::shared_ptr<kvcache::Residency> residency_;
  std::vector<std::string> models_;
};

}  // namespace rolter::balance
