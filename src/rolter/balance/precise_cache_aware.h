#pragma once

#include <memory>
#include <string>
#include <vector>

#include "rolter/balance/load_scorer.h"
#include "rolter/balance/overload.h"
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
/// The prompt must come as token ids. Without them, and when no target is known to hold a block of
/// it, the least loaded target is chosen. A target of which nothing is known has no credit; it
/// takes part all the same.
class PreciseCacheAware final : public Strategy {
 public:
  PreciseCacheAware(const PreciseSettings& settings, std::shared_ptr<kvcache::Residency> residency,
                    std::vector<std::string> models);

  Decision pick(const PickInput& in, Rng& rng, std::vector<Score>* scores) override;
  Record record(const PickInput& in, const Candidate& chosen) override;
  [[nodiscard]] bool uses_token_ids() const override { return true; }

 private:
  struct Choice {
    std::size_t position;  // in PickInput::eligible
    Reason reason;
  };
  [[nodiscard]] Choice choose(const PickInput& in, Rng& rng, const PerCandidate<Held>& held,
                              const PerCandidate<double>& totals) const;

  PreciseSettings settings_;
  LoadScorer load_;
  RouteResidency residency_;
};

}  // namespace rolter::balance
