#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rolter/balance/overload.h"
#include "rolter/balance/route_prefixes.h"
#include "rolter/balance/strategy.h"

namespace rolter::balance {

struct CacheAwareSettings {
  double threshold = 0.5;           // of the prompt's bytes
  std::size_t min_match_bytes = 0;  // a shorter match is none, whatever its share
  OverloadRule overload = {};
};

/// Sends a request to the replica that has served most of its prompt before.
///
/// The score of a target is the share of the prompt's leading bytes in prompts it has been sent.
/// The best one is chosen if it reaches the threshold (of several that are equal the least loaded,
/// then any) unless it is overloaded. Everything else goes to the least loaded target: of several
/// the one that holds the fewest bytes, so that an idle fleet warms up evenly, then any.
class CacheAware final : public Strategy {
 public:
  CacheAware(CacheAwareSettings settings, RoutePrefixes prefixes);

  Decision pick(const PickInput& in, Rng& rng, std::vector<Score>* scores) override;
  Record record(const PickInput& in, const Candidate& chosen) override;
  [[nodiscard]] bool remembers_replies() const override { return true; }

 private:
  struct Choice {
    std::size_t position;  // in PickInput::eligible
    Reason reason;
  };
  [[nodiscard]] Choice choose(const PickInput& in, Rng& rng, RoutePrefixes::Best& best) const;
  [[nodiscard]] std::size_t least_loaded(const PickInput& in, Rng& rng) const;
  [[nodiscard]] bool is_match(const PickInput& in, std::size_t matched_bytes) const;

  CacheAwareSettings settings_;
  RoutePrefixes prefixes_;
};

}  // namespace rolter::balance
