#include "rolter/proxy/decision_ring.h"

#include <algorithm>

namespace rolter::proxy {

void DecisionRing::add(const GatewayState& state, const RequestFacts& facts, WallTime now) {
  const std::lock_guard lock(mutex_);
  RoutedRequest& entry = kept_[++newest_ % kept_.size()];
  entry.number = newest_;
  entry.ended = now;
  entry.request_id = facts.request_id;
  entry.trace_id = facts.trace_id;
  entry.route = state.routes[facts.route].model;
  entry.target = facts.target_label;
  entry.reason = balance::to_string(facts.decision.reason);
  entry.source = balance::to_string(facts.decision.source);
  entry.matched = facts.decision.matched;
  entry.status = facts.status;
  entry.retries = facts.retries;
  entry.predicted_cached_tokens = predicted_cached_tokens(facts);
  entry.cached_tokens = facts.usage ? facts.usage->cached_tokens : std::nullopt;
  entry.ttft = facts.ttft;
  entry.duration = facts.duration;
  entry.error = facts.error;
  entry.scores.clear();
  for (const balance::Score& score : facts.scores) {
    const auto& target = state.cluster->routes[facts.route].targets[score.target];
    entry.scores.push_back({state.providers[target.provider].name, score.matched, score.total});
  }
}

void DecisionRing::note_error(std::string_view provider, std::string_view why, WallTime now) {
  const std::lock_guard lock(mutex_);
  auto place = std::ranges::find(errors_, provider, &LastError::provider);
  if (place == errors_.end() && errors_.size() < kMostProviders) {
    place = errors_.emplace(errors_.end());
  } else if (place == errors_.end()) {
    place = errors_.begin() + static_cast<std::ptrdiff_t>(next_error_++ % kMostProviders);
  }
  place->provider = provider;
  place->text = why;
  place->at = now;
}

void DecisionRing::read(std::uint64_t after, std::vector<RoutedRequest>& out) const {
  const std::lock_guard lock(mutex_);
  const std::uint64_t oldest = newest_ > kept_.size() ? newest_ - kept_.size() : 0;
  for (std::uint64_t number = std::max(after, oldest) + 1; number <= newest_; ++number) {
    out.push_back(kept_[number % kept_.size()]);
  }
}

std::uint64_t DecisionRing::newest() const {
  const std::lock_guard lock(mutex_);
  return newest_;
}

void DecisionRing::read_errors(std::vector<LastError>& out) const {
  const std::lock_guard lock(mutex_);
  out.insert(out.end(), errors_.begin(), errors_.end());
}

}  // namespace rolter::proxy
