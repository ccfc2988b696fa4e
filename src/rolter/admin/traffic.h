#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "rolter/proxy/gateway_state.h"
#include "rolter/telemetry/counter.h"

namespace rolter::admin {

/// Counts since the start, of one target, one provider or the fleet: the same counters as /metrics.
struct Figures {
  std::uint64_t requests = 0;
  std::uint64_t errors = 0;  // attempts that the replica failed
  std::uint64_t prompt_tokens = 0;
  std::uint64_t cached_tokens = 0;
  std::uint64_t predicted_tokens = 0;  // expected to be cached
  std::uint64_t foreseen_tokens = 0;   // of these, found
  std::uint64_t completion_tokens = 0;
  std::array<std::uint64_t, telemetry::TimeHistogram::kBuckets> ttft{};

  void add(const telemetry::TargetSeries& series);
  Figures& operator+=(const Figures& other);
  /// What came since; an earlier count that is greater (the series began anew) counts as none.
  [[nodiscard]] Figures since(const Figures& earlier) const;
};

/// What has happened lately.
struct Pace {
  double requests_per_s = 0.0;
  double prompt_tokens_per_s = 0.0;
  std::optional<double> ttft_p50_ms;
  std::optional<double> ttft_p90_ms;
  std::optional<double> token_hit_rate;  // cached / prompt tokens, as the replicas report them
  std::optional<double> precision;       // foreseen / predicted tokens
  std::optional<double> recall;          // foreseen / cached tokens
};

/// The quantile of a time histogram's counts, interpolated within its bucket as Prometheus does;
/// nullopt when it is empty.
[[nodiscard]] std::optional<double> quantile(
    const std::array<std::uint64_t, telemetry::TimeHistogram::kBuckets>& counts, double q);

/// The last minute of traffic, sampled once a second: by provider, and the fleet as a whole. Holds
/// 61 samples of about 270 bytes per provider. One thread.
class Traffic {
 public:
  static constexpr std::size_t kSamples = 61;

  void sample(const proxy::GatewayState& state, TimePoint now);

  /// The newest counts; none before the first sample.
  [[nodiscard]] Figures fleet() const;
  [[nodiscard]] Figures provider(std::string_view name) const;

  /// Rates over the last ten seconds, times to first token over the last minute.
  [[nodiscard]] Pace fleet_pace() const;
  [[nodiscard]] Pace provider_pace(std::string_view name) const;

  /// The fleet's pace at each second of the last minute, oldest first.
  [[nodiscard]] const std::deque<Pace>& history() const { return history_; }

 private:
  struct Sample {
    TimePoint at;
    Figures fleet;
    std::map<std::string, Figures, std::less<>> providers;
  };

  template <typename FiguresOf>
  [[nodiscard]] Pace pace(FiguresOf figures_of) const;

  std::deque<Sample> samples_;
  std::deque<Pace> history_;
};

}  // namespace rolter::admin
