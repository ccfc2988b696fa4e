#include "rolter/admin/text_table.h"

#include <algorithm>
#include <cstddef>

namespace rolter::admin {
namespace {

bool is_number(const std::string& cell) {
  return !cell.empty() && cell.front() >= '0' && cell.front() <= '9';
}

}  // namespace

std::string TextTable::text() const {
  std::vector<std::size_t> widths(rows_.front().size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string out;
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string gap(widths[i] - row[i].size(), ' ');
      out += i == 0 ? "" : "  ";
      out += is_number(row[i]) ? gap + row[i] : row[i] + gap;
    }
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
  }
  return out;
}

}  // namespace rolter::admin
