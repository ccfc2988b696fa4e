#pragma once

#include <string>
#include <vector>

#include "rolter/config/document.h"
#include "rolter/config/load.h"

namespace rolter::config {

/// Collects what a load finds, errors and warnings, so that one run reports every fault.
class Findings {
 public:
  void error(Position at, std::string key, std::string message);
  void warning(Position at, std::string key, std::string message);
  void add(Finding finding);

  [[nodiscard]] bool has_errors() const;

  /// Everything so far in the order of the file.
  [[nodiscard]] std::vector<Finding> take_sorted();

 private:
  std::vector<Finding> findings_;
};

}  // namespace rolter::config
