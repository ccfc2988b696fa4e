#include "rolter/config/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace rolter::config {

namespace {

/// Keys are the file's own words and may hold anything; a finding stays one line.
void drop_control_characters(std::string& text) {
  std::ranges::replace_if(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
}

}  // namespace

void Findings::add(Finding finding) {
  drop_control_characters(finding.key);
  drop_control_characters(finding.message);
  findings_.push_back(std::move(finding));
}

void Findings::error(Position at, std::string key, std::string message) {
  add({Severity::kError, at.line, at.column, std::move(key), std::move(message)});
}

void Findings::warning(Position at, std::string key, std::string message) {
  add({Severity::kWarning, at.line, at.column, std::move(key), std::move(message)});
}

bool Findings::has_errors() const {
  return std::ranges::any_of(
      findings_, [](const Finding& finding) { return finding.severity == Severity::kError; });
}

std::vector<Finding> Findings::take_sorted() {
  std::ranges::sort(findings_, {}, [](const Finding& finding) {
    return std::tie(finding.line, finding.column, finding.key, finding.message);
  });
  return std::exchange(findings_, {});
}

std::string format_finding(std::string_view file, const Finding& finding) {
  std::string text(file);
  if (finding.line != 0) {
    text += fmt::format(":{}:{}", finding.line, finding.column);
  }
  text += finding.severity == Severity::kError ? ": error: " : ": warning: ";
  if (!finding.key.empty()) {
    text += finding.key + ": ";
  }
  return text + finding.message;
}

}  // namespace rolter::config
