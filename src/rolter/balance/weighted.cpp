#include "rolter/balance/weighted.h"

#include <algorithm>
#include <utility>

namespace rolter::balance {
namespace {

double effective_weight(const Candidate& candidate) {
  constexpr double kLeastRamp = 0.01;  // a target that gained nothing could never be chosen
  return candidate.weight * std::max(candidate.ramp, kLeastRamp);
}

}  // namespace

Weighted::Weighted(std::vector<std::string> labels, const Weighted* before)
    : labels_(std::move(labels)), gained_(labels_.size()) {
  if (before == nullptr) {
    return;
  }
  const std::lock_guard lock(before->mutex_);
  for (std::size_t i = 0; i < labels_.size(); ++i) {
    const auto known = std::ranges::find(before->labels_, labels_[i]);
    if (known != before->labels_.end()) {
      gained_[i] = before->gained_[static_cast<std::size_t>(known - before->labels_.begin())];
    }
  }
}

Decision Weighted::pick(const PickInput& in, Rng& /*rng*/, std::vector<Score>* scores) {
  const std::lock_guard lock(mutex_);
  gained_.resize(std::max(gained_.size(), in.eligible.back().target + 1));
  const Candidate* chosen = nullptr;
  double most = 0.0;
  double sum = 0.0;
  for (const Candidate& candidate : in.eligible) {
    const double weight = effective_weight(candidate);
    const double gained = gained_[candidate.target] + weight;
    sum += weight;
    if (chosen == nullptr || gained > most) {
      chosen = &candidate;
      most = gained;
    }
    if (scores != nullptr) {
      scores->push_back(
          {.target = candidate.target, .total = gained, .parts = {{"weight", weight}}});
    } else {
      gained_[candidate.target] = gained;
    }
  }
  if (scores == nullptr) {  // explain leaves the turn to the next request
    gained_[chosen->target] -= sum;
  }
  return {.target = chosen->target, .reason = unless_only(in, Reason::kWeighted)};
}

}  // namespace rolter::balance
