#pragma once

#include <string>
#include <vector>

namespace rolter::admin {

/// Cells in columns as wide as their widest, two spaces apart; the first row is the heading.
/// Numbers (cells that begin with a digit) are set to the right.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> heading) { add(std::move(heading)); }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace rolter::admin
