#include "rolter/telemetry/metrics_registry.h"

#include <prometheus/collectable.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "rolter/telemetry/family_writer.h"

namespace rolter::telemetry {
namespace {

/// Shared with a route that really has this name.
constexpr std::string_view kUnknownRoute = "unknown";

/// The series of this label from before, or a new one.
template <typename Counters>
std::shared_ptr<Series<Counters>> keep_or_make(
    const std::vector<std::shared_ptr<Series<Counters>>>& before, const std::string& label,
    std::size_t loops) {
  const auto found =
      std::ranges::find_if(before, [&](const auto& series) { return series->label() == label; });
  return found != before.end() ? *found : std::make_shared<Series<Counters>>(label, loops);
}

template <typename Counters>
std::vector<std::shared_ptr<Series<Counters>>> keep_or_make_all(
    const std::vector<std::shared_ptr<Series<Counters>>>& before,
    const std::vector<std::string>& labels, std::size_t loops) {
  std::vector<std::shared_ptr<Series<Counters>>> series;
  for (const std::string& label : labels) {
    // One that is named twice is one series: two keys of one team, two entries for one target.
    const auto twin =
        std::ranges::find_if(series, [&](const auto& other) { return other->label() == label; });
    series.push_back(twin != series.end() ? *twin : keep_or_make(before, label, loops));
  }
  return series;
}

/// Calls `write` once for each series, however often it is named: a scrape with a series twice is
/// refused as a whole.
template <typename Counters, typename Write>
void for_each_once(const std::vector<std::shared_ptr<Series<Counters>>>& all, Write write) {
  for (auto series = all.begin(); series != all.end(); ++series) {
    if (std::find(all.begin(), series, *series) == series) {
      write(**series);
    }
  }
}

RouteMetrics make_route(const std::string& name, std::size_t loops) {
  return {.route = std::make_shared<RouteSeries>(name, loops),
          .no_target = std::make_shared<TargetSeries>("none", loops),
          .targets = {}};
}

/// The sum over all loops of one counter of their blocks.
template <typename Counters, typename Field>
double sum(const Series<Counters>& series, Field field) {
  std::uint64_t total = 0;
  for (const Counters& block : series.blocks()) {
    total += field(block).value();
  }
  return static_cast<double>(total);
}

template <typename Counters>
double sum_member(const Series<Counters>& series, Counter Counters::* member) {
  return sum(series, [&](const Counters& block) -> const Counter& { return block.*member; });
}

/// One histogram, added up over the blocks of all loops.
template <const auto& kBounds, typename Blocks, typename Field>
void write_histogram(FamilyWriter& writer, Metric metric, FamilyWriter::Labels labels,
                     const Blocks& blocks, Field field) {
  std::array<std::uint64_t, Histogram<kBounds>::kBuckets> counts{};
  double total = 0;
  for (const auto& block : blocks) {
    const Histogram<kBounds>& histogram = block.*field;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      counts[i] += histogram.count(i);
    }
    total += histogram.sum();
  }
  writer.histogram(metric, labels, kBounds, counts, total);
}

template <typename Counters>
void write_words(FamilyWriter& writer, Metric metric, std::span<const std::string_view> words,
                 const Series<Counters>& series, WordCounters Counters::* member,
                 std::string_view route) {
  for (std::size_t i = 0; i < words.size() && i < kMostWords; ++i) {
    if (words[i].empty()) {
      continue;
    }
    const double value =
        sum(series, [&](const Counters& block) -> const Counter& { return (block.*member)[i]; });
    if (route.empty()) {
      writer.value(metric, {series.label(), words[i]}, value);
    } else {
      writer.value(metric, {route, series.label(), words[i]}, value);
    }
  }
}

void write_requests(FamilyWriter& writer, std::string_view route, const TargetSeries& target) {
  for (std::size_t i = 0; i < kStatusLabels; ++i) {
    const double value = sum(
        target, [i](const TargetCounters& block) -> const Counter& { return block.requests[i]; });
    if (value > 0 || status_shown_at_zero(i)) {
      writer.value(Metric::kRequests, {route, target.label(), kStatusNames[i]}, value);
    }
  }
}

void write_target(FamilyWriter& writer, std::string_view route, const TargetSeries& target) {
  write_requests(writer, route, target);
  const FamilyWriter::Labels labels{route, target.label()};
  write_histogram<kTimeBounds>(writer, Metric::kRequestLatency, labels, target.blocks(),
                               &TargetCounters::latency_ms);
  write_histogram<kTimeBounds>(writer, Metric::kRequestTtft, labels, target.blocks(),
                               &TargetCounters::ttft_ms);
  constexpr std::array kCounters{
      std::pair{Metric::kRetries, &TargetCounters::retries},
      std::pair{Metric::kPromptTokens, &TargetCounters::prompt_tokens},
      std::pair{Metric::kCachedTokens, &TargetCounters::cached_tokens},
      std::pair{Metric::kPredictedCachedTokens, &TargetCounters::predicted_cached_tokens},
      std::pair{Metric::kForeseenCachedTokens, &TargetCounters::foreseen_cached_tokens},
      std::pair{Metric::kCompletionTokens, &TargetCounters::completion_tokens}};
  for (const auto& [metric, member] : kCounters) {
    writer.value(metric, labels, sum_member(target, member));
  }
}

void write_predictions(FamilyWriter& writer, std::string_view route, const TargetSeries& target,
                       const Vocabulary& words) {
  for (std::size_t i = 0; i < words.sources.size() && i < kMostSources; ++i) {
    for (std::size_t j = 0; j < words.verdicts.size() && j < kVerdicts; ++j) {
      const double value = sum(target, [&](const TargetCounters& block) -> const Counter& {
        return block.predictions[i][j];
      });
      if (value > 0) {
        writer.value(Metric::kCachePredictions,
                     {route, target.label(), words.sources[i], words.verdicts[j]}, value);
      }
    }
  }
}

void write_route(FamilyWriter& writer, const RouteSeries& route, const Vocabulary& words) {
  const std::string& name = route.label();
  write_words(writer, Metric::kDecisions, words.reasons, route, &RouteCounters::decisions, {});
  write_words(writer, Metric::kFallbacks, words.fallbacks, route, &RouteCounters::fallbacks, {});
  write_histogram<kFractionBounds>(writer, Metric::kMatchedFraction, {name}, route.blocks(),
                                   &RouteCounters::matched);
  writer.value(Metric::kQueueRefused, {name, "full"},
               sum_member(route, &RouteCounters::queue_full));
  writer.value(Metric::kQueueRefused, {name, "timeout"},
               sum_member(route, &RouteCounters::queue_timed_out));
  writer.value(Metric::kHeartbeats, {name}, sum_member(route, &RouteCounters::heartbeats));
  writer.value(Metric::kRequestBytes, {name}, sum_member(route, &RouteCounters::request_bytes));
  writer.value(Metric::kResponseBytes, {name}, sum_member(route, &RouteCounters::response_bytes));
}

void write_provider(FamilyWriter& writer, const ProviderSeries& provider, const Vocabulary& words) {
  const std::string& name = provider.label();
  writer.value(Metric::kCooldownsTripped, {name},
               sum_member(provider, &ProviderCounters::cooldowns_tripped));
  writer.value(Metric::kBreakerOpened, {name},
               sum_member(provider, &ProviderCounters::breaker_opened));
  writer.value(Metric::kCacheLosses, {name}, sum_member(provider, &ProviderCounters::cache_losses));
  write_words(writer, Metric::kProbes, words.probes, provider, &ProviderCounters::probes, {});
}

void write_key(FamilyWriter& writer, const KeySeries& key) {
  const std::string& name = key.label();
  writer.value(Metric::kKeyRequests, {name}, sum_member(key, &KeyCounters::requests));
  writer.value(Metric::kKeyTokens, {name, "prompt"}, sum_member(key, &KeyCounters::prompt_tokens));
  writer.value(Metric::kKeyTokens, {name, "cached"}, sum_member(key, &KeyCounters::cached_tokens));
  writer.value(Metric::kKeyTokens, {name, "completion"},
               sum_member(key, &KeyCounters::completion_tokens));
}

}  // namespace

void ScrapeSink::set(Metric metric, std::initializer_list<std::string_view> labels, double value) {
  writer_.value(metric, labels, value);
}

MetricsRegistry::MetricsRegistry(std::size_t loops, Vocabulary words, BuildInfo build)
    : loops_(loops), words_(std::move(words)), build_(std::move(build)) {
  auto layout = std::make_shared<MetricsLayout>();
  layout->unknown_route = make_route(std::string{kUnknownRoute}, loops);
  layout_ = std::move(layout);
}

std::shared_ptr<const MetricsLayout> MetricsRegistry::apply(const LayoutNames& names) {
  const std::lock_guard lock(mutex_);
  const std::size_t loops = loops_.size();
  auto layout = std::make_shared<MetricsLayout>();
  layout->unknown_route = layout_->unknown_route;
  layout->providers = keep_or_make_all(layout_->providers, names.providers, loops);
  layout->keys = keep_or_make_all(layout_->keys, names.keys, loops);
  for (const RouteNames& route : names.routes) {
    const auto before = std::ranges::find_if(layout_->routes, [&](const RouteMetrics& metrics) {
      return metrics.route->label() == route.route;
    });
    RouteMetrics metrics = before != layout_->routes.end() ? *before
                           : route.route == kUnknownRoute  ? layout_->unknown_route
                                                           : make_route(route.route, loops);
    metrics.targets = keep_or_make_all(metrics.targets, route.targets, loops);
    layout->routes.push_back(std::move(metrics));
  }
  layout_ = layout;
  return layout;
}

std::string MetricsRegistry::expose() const {
  std::shared_ptr<const MetricsLayout> layout;
  {
    const std::lock_guard lock(mutex_);
    layout = layout_;
  }
  FamilyWriter writer;
  write_routes(writer, *layout);
  write_process(writer);
  ScrapeSink sink{writer};
  for (const Source& source : sources_) {
    source(sink);
  }
  return prometheus::TextSerializer{}.Serialize(std::move(writer).take());
}

void MetricsRegistry::write_routes(FamilyWriter& writer, const MetricsLayout& layout) const {
  const auto write = [&](const RouteMetrics& route) {
    write_route(writer, *route.route, words_);
    const std::string& name = route.route->label();
    write_target(writer, name, *route.no_target);
    for_each_once(route.targets, [&](const TargetSeries& target) {
      write_target(writer, name, target);
      write_predictions(writer, name, target, words_);
      write_words(writer, Metric::kUpstreamErrors, words_.errors, target, &TargetCounters::errors,
                  name);
    });
  };
  std::ranges::for_each(layout.routes, write);
  if (std::ranges::find(layout.routes, layout.unknown_route.route, &RouteMetrics::route) ==
      layout.routes.end()) {
    write(layout.unknown_route);
  }
  for_each_once(layout.providers, [&](const auto& it) { write_provider(writer, it, words_); });
  for_each_once(layout.keys, [&](const auto& it) { write_key(writer, it); });
}

void MetricsRegistry::write_process(FamilyWriter& writer) const {
  std::uint64_t disconnects = 0;
  for (const LoopCounters& loop : loops_) {
    disconnects += loop.client_disconnects.value();
  }
  writer.value(Metric::kClientDisconnects, {}, static_cast<double>(disconnects));
  write_histogram<kLagBounds>(writer, Metric::kLoopLag, {}, loops_, &LoopCounters::lag_seconds);
  writer.value(Metric::kBuildInfo, {build_.version, build_.commit}, 1);
}

}  // namespace rolter::telemetry
