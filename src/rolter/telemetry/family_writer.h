#pragma once

#include <prometheus/metric_family.h>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "rolter/telemetry/metric_catalogue.h"

namespace rolter::telemetry {

/// Builds the families of one scrape from the catalogue's definitions.
class FamilyWriter {
 public:
  using Labels = std::initializer_list<std::string_view>;

  FamilyWriter();

  /// A counter or gauge. `labels` are the values of the definition's labels, in its order.
  void value(Metric metric, Labels labels, double value);

  /// `counts` are per bucket, the last one +Inf; one bound fewer.
  void histogram(Metric metric, Labels labels, std::span<const double> bounds,
                 std::span<const std::uint64_t> counts, double sum);

  /// Families without a series are left out.
  [[nodiscard]] std::vector<prometheus::MetricFamily> take() &&;

 private:
  prometheus::ClientMetric& add(Metric metric, Labels labels);

  std::vector<prometheus::MetricFamily> families_;
};

}  // namespace rolter::telemetry
