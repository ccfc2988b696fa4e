#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "rolter/telemetry/metric_catalogue.h"
#include "rolter/telemetry/series.h"

namespace rolter::telemetry {

class FamilyWriter;

/// The values of the labels that the code names, in the order of the enum each comes from; "" is
/// left out. All others are shown from the start, zero or not, so that an absent fault is a zero
/// and not a gap.
struct Vocabulary {
  std::vector<std::string_view> errors;        // cluster::Outcome, failures only
  std::vector<std::string_view> reasons;       // balance::Reason
  std::vector<std::string_view> fallbacks;     // why a request was not routed as its strategy would
  std::vector<std::string_view> probes;        // cluster::ProbeResult
  std::vector<std::string_view> sources = {};  // balance::Source
  std::vector<std::string_view> verdicts = {};  // proxy::PredictionVerdict
};

struct BuildInfo {
  std::string version;
  std::string commit;
};

/// The names that series are made of.
struct RouteNames {
  std::string route;
  std::vector<std::string> targets;  // "provider/model"
};
struct LayoutNames {
  std::vector<RouteNames> routes;
  std::vector<std::string> providers;
  std::vector<std::string> keys;
};

/// What a source of gauges, or of counts kept elsewhere, writes to.
class ScrapeSink {
 public:
  explicit ScrapeSink(FamilyWriter& writer) : writer_(writer) {}
  /// `labels` are the values of the metric's labels, in the catalogue's order.
  void set(Metric metric, std::initializer_list<std::string_view> labels, double value);

 private:
  FamilyWriter& writer_;
};

/// All metrics. Event loops count on blocks of their own (see Series); a scrape adds them up.
/// Cardinality is bounded by the configuration: routes, targets, providers, keys and words of the
/// code, never anything a client sends.
class MetricsRegistry {
 public:
  using Source = std::function<void(ScrapeSink&)>;

  MetricsRegistry(std::size_t loops, Vocabulary words, BuildInfo build);

  [[nodiscard]] LoopCounters& loop(std::size_t index) { return loops_[index]; }

  /// Makes the layout of a configuration. Names that stay go on counting, others vanish from the
  /// next scrape on. Any thread.
  [[nodiscard]] std::shared_ptr<const MetricsLayout> apply(const LayoutNames& names);

  /// Called at every scrape, on the scraping thread. Before the first scrape only.
  void add_source(Source source) { sources_.push_back(std::move(source)); }

  /// The text exposition format 0.0.4. Any thread; takes milliseconds with hundreds of targets, so
  /// not on an event loop that serves.
  [[nodiscard]] std::string expose() const;

 private:
  void write_routes(FamilyWriter& writer, const MetricsLayout& layout) const;
  void write_process(FamilyWriter& writer) const;

  std::vector<LoopCounters> loops_;
  Vocabulary words_;
  BuildInfo build_;
  std::vector<Source> sources_;
  mutable std::mutex mutex_;  // for layout_
  std::shared_ptr<const MetricsLayout> layout_;
};

}  // namespace rolter::telemetry
