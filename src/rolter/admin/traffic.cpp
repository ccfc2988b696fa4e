#include "rolter/admin/traffic.h"

#include <algorithm>
#include <chrono>
#include <numeric>

namespace rolter::admin {
namespace {

constexpr std::size_t kRateSamples = 10;

std::uint64_t rise(std::uint64_t now, std::uint64_t before) {
  return now >= before ? now - before : 0;
}

std::optional<double> share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? std::nullopt
                    : std::optional(static_cast<double>(part) / static_cast<double>(whole));
}

}  // namespace

void Figures::add(const telemetry::TargetSeries& series) {
  for (const telemetry::TargetCounters& block : series.blocks()) {
    for (const telemetry::Counter& counter : block.requests) {
      requests += counter.value();
    }
    for (const telemetry::Counter& counter : block.errors) {
      errors += counter.value();
    }
    prompt_tokens += block.prompt_tokens.value();
    cached_tokens += block.cached_tokens.value();
    predicted_tokens += block.predicted_cached_tokens.value();
    foreseen_tokens += block.foreseen_cached_tokens.value();
    completion_tokens += block.completion_tokens.value();
    for (std::size_t i = 0; i < ttft.size(); ++i) {
      ttft[i] += block.ttft_ms.count(i);
    }
  }
}

Figures& Figures::operator+=(const Figures& other) {
  requests += other.requests;
  errors += other.errors;
  prompt_tokens += other.prompt_tokens;
  cached_tokens += other.cached_tokens;
  predicted_tokens += other.predicted_tokens;
  foreseen_tokens += other.foreseen_tokens;
  completion_tokens += other.completion_tokens;
  for (std::size_t i = 0; i < ttft.size(); ++i) {
    ttft[i] += other.ttft[i];
  }
  return *this;
}

Figures Figures::since(const Figures& earlier) const {
  Figures out;
  out.requests = rise(requests, earlier.requests);
  out.errors = rise(errors, earlier.errors);
  out.prompt_tokens = rise(prompt_tokens, earlier.prompt_tokens);
  out.cached_tokens = rise(cached_tokens, earlier.cached_tokens);
  out.predicted_tokens = rise(predicted_tokens, earlier.predicted_tokens);
  out.foreseen_tokens = rise(foreseen_tokens, earlier.foreseen_tokens);
  out.completion_tokens = rise(completion_tokens, earlier.completion_tokens);
  for (std::size_t i = 0; i < ttft.size(); ++i) {
    out.ttft[i] = rise(ttft[i], earlier.ttft[i]);
  }
  return out;
}

std::optional<double> quantile(
    const std::array<std::uint64_t, telemetry::TimeHistogram::kBuckets>& counts, double q) {
  const auto total = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  if (total == 0) {
    return std::nullopt;
  }
  const auto& bounds = telemetry::kTimeBounds;
  const double rank = q * static_cast<double>(total);
  double below = 0;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    const auto here = static_cast<double>(counts[i]);
    if (here > 0 && below + here >= rank) {
      const double from = i == 0 ? 0.0 : bounds[i - 1];
      return from + (bounds[i] - from) * (rank - below) / here;
    }
    below += here;
  }
  return bounds.back();
}

void Traffic::sample(const proxy::GatewayState& state, TimePoint now) {
  Sample& sample = samples_.emplace_back();
  sample.at = now;
  const telemetry::MetricsLayout& layout = *state.metrics;
  sample.fleet.add(*layout.unknown_route.no_target);
  for (std::size_t i = 0; i < layout.routes.size(); ++i) {
    const telemetry::RouteMetrics& route = layout.routes[i];
    if (route.no_target != layout.unknown_route.no_target) {
      sample.fleet.add(*route.no_target);
    }
    for (std::size_t j = 0; j < route.targets.size(); ++j) {
      // Two entries for one target share a series.
      if (std::find(route.targets.begin(), route.targets.begin() + static_cast<std::ptrdiff_t>(j),
                    route.targets[j]) != route.targets.begin() + static_cast<std::ptrdiff_t>(j)) {
        continue;
      }
      Figures figures;
      figures.add(*route.targets[j]);
      const std::size_t provider = state.cluster->routes[i].targets[j].provider;
      sample.providers[state.providers[provider].name] += figures;
      sample.fleet += figures;
    }
  }
  if (samples_.size() > kSamples) {
    samples_.pop_front();
  }
  history_.push_back(fleet_pace());
  if (history_.size() > kSamples - 1) {
    history_.pop_front();
  }
}

template <typename FiguresOf>
Pace Traffic::pace(FiguresOf figures_of) const {
  Pace pace;
  if (samples_.size() < 2) {
    return pace;
  }
  const Sample& newest = samples_.back();
  const Sample& recent =
      samples_[samples_.size() - 1 - std::min(kRateSamples, samples_.size() - 1)];
  const Figures lately = figures_of(newest).since(figures_of(recent));
  const double secs = std::chrono::duration<double>(newest.at - recent.at).count();
  if (secs > 0) {
    pace.requests_per_s = static_cast<double>(lately.requests) / secs;
    pace.prompt_tokens_per_s = static_cast<double>(lately.prompt_tokens) / secs;
  }
  const Figures minute = figures_of(newest).since(figures_of(samples_.front()));
  pace.ttft_p50_ms = quantile(minute.ttft, 0.5);
  pace.ttft_p90_ms = quantile(minute.ttft, 0.9);
  pace.token_hit_rate = share(minute.cached_tokens, minute.prompt_tokens);
  pace.precision = share(minute.foreseen_tokens, minute.predicted_tokens);
  pace.recall = share(minute.foreseen_tokens, minute.cached_tokens);
  return pace;
}

Figures Traffic::fleet() const {
  return samples_.empty() ? Figures{} : samples_.back().fleet;
}

Figures Traffic::provider(std::string_view name) const {
  if (samples_.empty()) {
    return {};
  }
  const auto found = samples_.back().providers.find(name);
  return found == samples_.back().providers.end() ? Figures{} : found->second;
}

Pace Traffic::fleet_pace() const {
  return pace([](const Sample& sample) -> const Figures& { return sample.fleet; });
}

Pace Traffic::provider_pace(std::string_view name) const {
  return pace([name](const Sample& sample) {
    const auto found = sample.providers.find(name);
    return found == sample.providers.end() ? Figures{} : found->second;
  });
}

}  // namespace rolter::admin
