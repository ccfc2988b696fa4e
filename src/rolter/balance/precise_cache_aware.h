#pragma once

#include <cstddef>
#include <optional>

#include "rolter/balance/load_scorer.h"
#include "rolter/balance/overload.h"
#include "rolter/balance/route_prefixes.h"
#include "rolter/balance/route_residency.h"
#include "rolter/balance/strategy.h"

namespace rolter::balance {

struct PreciseSettings {
  double precise_weight = 1.0;  // of the share of the prompt's full blocks that a target holds
  double load_weight = 0.25;
  OverloadRule overload = {};
  bool optimistic = true;  // a prompt on its way counts as held
};

/// Sends a request to the replica whose engine holds most of its prompt's blocks, as the engines'
/// own events tell: the eligible target with the greatest weighted sum of that share and of the
/// load score, overloaded ones passed over; of several that are equal the least loaded, then any.
///
/// The prompt's blocks are known by its token ids, or by the chain that its text has been learned
/// to become. Without either, and when no target is known to hold a block of it, the least loaded
/// target is chosen. A target of which nothing is known has no credit, or, with prefixes, that of
/// the share of the prompt's text that it has been sent before; it takes part all the same.
class PreciseCacheAware final : public Strategy {
 public:
  PreciseCacheAware(const PreciseSettings& settings, RouteResidency residency,
                    std::optional<RoutePrefixes> prefixes = {});

  Decision pick(const PickInput& in, Rng& rng, std::vector<Score>* scores) override;
  Record record(const PickInput& in, const Candidate& chosen) override;
  [[nodiscard]] bool uses_token_ids() const override { return true; }
  [[nodiscard]] bool remembers_replies() const override {
    return residency_.learns() || prefixes_.has_value();
  }

 private:
  struct Choice {
    std::size_t position;  // in PickInput::eligible
    Reason reason;
  };
  /// What speaks for one target.
  struct Credit {
    double share = 0.0;  // of the prompt
    double total = 0.0;
    std::size_t sent_bytes = 0;  // by the prefix tree, where that was asked
    Source source = Source::kNone;
  };
  [[nodiscard]] Choice choose(const PickInput& in, Rng& rng,
                              const PerCandidate<Credit>& credits) const;

  PreciseSettings settings_;
  LoadScorer load_;
  RouteResidency residency_;
  std::optional<RoutePrefixes> prefixes_;
};

}  // namespace rolter::balance
