#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "rolter/balance/overload.h"
#include "rolter/balance/strategy.h"

namespace rolter::balance {

/// Sends equal keys to equal targets without remembering anything, so that several gateways and
/// restarts agree: x-session-id, or else the head of the prompt. Rendezvous hashing (Thaler and
/// Ravishankar 1998) by the target's label and weight: when a target comes or goes, only the keys
/// that it wins or had move. Bounded load (Mirrokni et al. 2017): a target with more than its share
/// and a quarter is passed over, and the key goes to its next choice; a queue that would be too
/// short for the overload rule never counts as more.
class ConsistentHash final : public Strategy {
 public:
  /// Of the prompt: long enough to tell system prompts apart, short enough that a conversation's
  /// turns agree.
  static constexpr std::size_t kHeadBytes = 1'024;

  /// `labels`: "provider/model" per target of the route.
  ConsistentHash(const std::vector<std::string>& labels, OverloadRule overload);

  Decision pick(const PickInput& in, Rng& rng, std::vector<Score>* scores) override;
  Record record(const PickInput& /*in*/, const Candidate& /*chosen*/) override { return {}; }

 private:
  /// The greatest wins; proportional to the weights in the long run.
  [[nodiscard]] double rank(const Candidate& candidate, std::uint64_t key) const;

  std::vector<std::uint64_t> identities_;  // by target
  OverloadRule overload_;
};

}  // namespace rolter::balance
