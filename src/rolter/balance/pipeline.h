#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "rolter/balance/overload.h"
#include "rolter/balance/route_prefixes.h"
#include "rolter/balance/scorer.h"
#include "rolter/balance/session_table.h"
#include "rolter/balance/strategy.h"

namespace rolter::balance {

/// Weighs several opinions: the eligible target with the greatest weighted sum of the scorers', of
/// several that are equal any. (The filter that comes first, eligibility, is the caller's.)
///
/// On top, a request with x-session-id goes to the replica that served the session last while that
/// one is eligible and not overloaded; otherwise the others are scored, and the session follows to
/// the one that serves.
class Pipeline final : public Strategy {
 public:
  struct Parts {
    std::vector<WeightedScorer> scorers;
    RoutePrefixes prefixes;
    std::shared_ptr<SessionTable> sessions;  // shared with the route's strategy of a later reload
    OverloadRule overload;
  };
  explicit Pipeline(Parts parts);

  Decision pick(const PickInput& in, Rng& rng, std::vector<Score>* scores) override;
  Record record(const PickInput& in, const Candidate& chosen) override;
  [[nodiscard]] bool remembers_replies() const override { return true; }

 private:
  struct Choice {
    std::size_t position;  // in PickInput::eligible
    Reason reason;
  };
  [[nodiscard]] Choice choose(const PickInput& in, Rng& rng, const PerCandidate<double>& totals,
                              const PerCandidate<std::size_t>& matched) const;
  /// Where the session's replica is among the eligible.
  [[nodiscard]] std::optional<std::size_t> pinned(const PickInput& in) const;

  Parts parts_;
};

}  // namespace rolter::balance
