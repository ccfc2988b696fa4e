#include "rolter/telemetry/family_writer.h"

#include <string>
#include <utility>

namespace rolter::telemetry {
namespace {

prometheus::MetricType to_prometheus(MetricType type) {
  switch (type) {
    case MetricType::kCounter:
      return prometheus::MetricType::Counter;
    case MetricType::kGauge:
      return prometheus::MetricType::Gauge;
    case MetricType::kHistogram:
      return prometheus::MetricType::Histogram;
  }
  return prometheus::MetricType::Untyped;
}

}  // namespace

FamilyWriter::FamilyWriter() {
  families_.reserve(kMetricCount);
  for (const MetricDefinition& metric : metric_catalogue()) {
    families_.push_back({.name = std::string{metric.name},
                         .help = std::string{metric.help},
                         .type = to_prometheus(metric.type),
                         .metric = {}});
  }
}

prometheus::ClientMetric& FamilyWriter::add(Metric metric, Labels labels) {
  const MetricDefinition& defined = definition(metric);
  prometheus::ClientMetric& added =
      families_.at(static_cast<std::size_t>(metric)).metric.emplace_back();
  std::size_t i = 0;
  for (const std::string_view value : labels) {
    added.label.push_back({std::string{defined.labels.at(i)}, std::string{value}});
    ++i;
  }
  return added;
}

void FamilyWriter::value(Metric metric, Labels labels, double value) {
  prometheus::ClientMetric& added = add(metric, labels);
  if (definition(metric).type == MetricType::kCounter) {
    added.counter.value = value;
  } else {
    added.gauge.value = value;
  }
}

void FamilyWriter::histogram(Metric metric, Labels labels, std::span<const double> bounds,
                             std::span<const std::uint64_t> counts, double sum) {
  prometheus::ClientMetric::Histogram& added = add(metric, labels).histogram;
  std::uint64_t cumulative = 0;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    cumulative += counts[i];
    added.bucket.push_back({cumulative, bounds[i]});
  }
  // The serializer writes +Inf itself, from the count.
  added.sample_count = cumulative + counts.back();
  added.sample_sum = sum;
}

std::vector<prometheus::MetricFamily> FamilyWriter::take() && {
  std::erase_if(families_, [](const auto& family) { return family.metric.empty(); });
  return std::move(families_);
}

}  // namespace rolter::telemetry
