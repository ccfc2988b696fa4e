#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "rolter/base/random.h"
#include "rolter/base/time.h"
#include "rolter/simulator/replay/virtual_engine.h"

namespace rolter::simulator::replay {

/// A request that has to go somewhere now.
struct Arrival {
  RequestId request = 0;
  const TraceCall& call;
  std::uint64_t session = 0;   // equal for the calls of one conversation
  bool session_named = false;  // whether the trace says so; else it is guessed by the prompt
  TimePoint now;
};

struct Choice {
  std::size_t replica = 0;
  std::optional<std::size_t> expected_blocks =
      {};  // that its engine will find; absent = no opinion
};

/// What the caller of an engine sees of one answer, and what the engine reports of it.
struct Answer {
  RequestId request = 0;
  const TraceCall& call;
  std::size_t replica = 0;
  std::size_t prompt_tokens = 0;
  std::size_t cached_tokens = 0;
  TimePoint now;
};

/// Who decides in a replay, and what it is told meanwhile, in the order of virtual time.
class Policy {
 public:
  virtual ~Policy() = default;

  /// Nothing: nobody may take the request. `engines` are the truth.
  [[nodiscard]] virtual std::optional<Choice> choose(const Arrival& arrival,
                                                     std::span<const VirtualEngine> engines,
                                                     Rng& rng) = 0;
  virtual void first_token(const Answer& /*answer*/) {}
  virtual void ended(const Answer& /*answer*/) {}

  /// How much it believes the replica to hold; absent = it keeps no account.
  [[nodiscard]] virtual std::optional<std::size_t> believed_blocks(std::size_t /*replica*/) const {
    return std::nullopt;
  }

  /// The replica has used this chain, which has changed what it holds.
  virtual void cache_changed(std::size_t /*replica*/, std::span<const BlockId> /*chain*/,
                             const CacheChange& /*change*/, TimePoint /*now*/) {}
};

}  // namespace rolter::simulator::replay
