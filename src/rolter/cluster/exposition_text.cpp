#include "rolter/cluster/exposition_text.h"

#include <algorithm>
#include <charconv>
#include <cstddef>

namespace rolter::cluster {
namespace {

constexpr std::string_view kBlank = " \t\r";

void skip_blank(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
}

/// The position of the quote that ends the string which begins at the start of `text`.
std::size_t end_of_quoted(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      return i;
    }
  }
  return std::string_view::npos;
}

/// Takes one `name="value"` and the comma after it off `labels`.
struct Label {
  std::string_view name;
  std::string_view value;
};
std::optional<Label> take_label(std::string_view& labels) {
  skip_blank(labels);
  const std::size_t equals = labels.find("=\"");
  if (equals == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view name = labels.substr(0, equals);
  labels.remove_prefix(equals + 2);
  const std::size_t end = end_of_quoted(labels);
  if (end == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view value = labels.substr(0, end);
  labels.remove_prefix(end + 1);
  skip_blank(labels);
  if (labels.starts_with(',')) {
    labels.remove_prefix(1);
  }
  return Label{name, value};
}

/// Takes everything up to the brace that closes the labels, which is outside of any string.
std::optional<std::string_view> take_labels(std::string_view& line) {
  std::size_t i = 1;  // behind the opening brace
  while (i < line.size() && line[i] != '}') {
    if (line[i] == '"') {
      const std::size_t end = end_of_quoted(line.substr(i + 1));
      if (end == std::string_view::npos) {
        return std::nullopt;
      }
      i += end + 1;
    }
    ++i;
  }
  if (i >= line.size()) {
    return std::nullopt;
  }
  const std::string_view labels = line.substr(1, i - 1);
  line.remove_prefix(i + 1);
  return labels;
}

std::optional<double> read_value(std::string_view text) {
  skip_blank(text);
  if (text.starts_with('+')) {  // "+Inf", which from_chars does not know
    text.remove_prefix(1);
  }
  const std::string_view word = text.substr(0, text.find_first_of(kBlank));
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size()) {
    return std::nullopt;
  }
  return value;
}

std::optional<Sample> read_line(std::string_view line) {
  skip_blank(line);
  if (line.empty() || line.front() == '#') {
    return std::nullopt;
  }
  Sample sample;
  sample.name = line.substr(0, line.find_first_of("{ \t\r"));
  line.remove_prefix(sample.name.size());
  skip_blank(line);
  if (line.starts_with('{')) {
    const std::optional<std::string_view> labels = take_labels(line);
    if (!labels) {
      return std::nullopt;
    }
    sample.labels = *labels;
  }
  const std::optional<double> value = read_value(line);
  if (!value || sample.name.empty()) {
    return std::nullopt;
  }
  sample.value = *value;
  return sample;
}

}  // namespace

std::optional<std::string_view> Sample::label(std::string_view wanted) const {
  std::string_view rest = labels;
  while (const std::optional<Label> label = take_label(rest)) {
    if (label->name == wanted) {
      return label->value;
    }
  }
  return std::nullopt;
}

std::optional<Sample> ExpositionReader::next() {
  while (!rest_.empty()) {
    const std::size_t end = rest_.find('\n');
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    if (const std::optional<Sample> sample = read_line(line)) {
      return sample;
    }
  }
  return std::nullopt;
}

}  // namespace rolter::cluster
