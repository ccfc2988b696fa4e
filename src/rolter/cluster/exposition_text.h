#pragma once

#include <optional>
#include <string_view>

namespace rolter::cluster {

/// One line of the Prometheus text format. Views into the text.
struct Sample {
  std::string_view name;
  std::string_view labels;  // what stands between the braces, as it is
  double value = 0.0;

  /// The value of a label, escapes left as they are; nullopt when it has none of that name.
  [[nodiscard]] std::optional<std::string_view> label(std::string_view wanted) const;
};

/// Reads the samples of a Prometheus (or OpenMetrics) text one after another. Comments, empty lines
/// and lines that are no sample are passed over: a replica's metrics are not ours to judge. Never
/// allocates.
class ExpositionReader {
 public:
  explicit ExpositionReader(std::string_view text) : rest_(text) {}
  [[nodiscard]] std::optional<Sample> next();

 private:
  std::string_view rest_;
};

}  // namespace rolter::cluster
