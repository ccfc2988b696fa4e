#include "rolter/openai/multipart.h"

#include <algorithm>
#include <utility>

#include "rolter/base/ascii.h"
#include "rolter/openai/request_fields.h"

namespace rolter::openai {
namespace {

constexpr std::string_view kMultipartForm = "multipart/form-data";
constexpr std::size_t kLongestBoundary = 200;  // RFC 2046 allows 70; some clients write more
constexpr std::size_t kLongestHead = 16384;    // of one part

/// Where a parameter's value ends: at the semicolon that follows it, quoted ones apart.
std::size_t end_of_parameter(std::string_view text) {
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && text[i] == ';') {
      return i;
    }
  }
  return text.size();
}

/// The value of a parameter of a header ("form-data; name=x; filename=y"), without its quotes but
/// with its backslashes.
std::optional<std::string_view> parameter(std::string_view header, std::string_view name) {
  std::size_t at = end_of_parameter(header);
  while (at < header.size()) {
    header.remove_prefix(at + 1);
    at = end_of_parameter(header);
    const std::string_view pair = header.substr(0, at);
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos || !iequals(trim_blanks(pair.substr(0, equals)), name)) {
      continue;
    }
    std::string_view value = trim_blanks(pair.substr(equals + 1));
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
      value = value.substr(1, value.size() - 2);
    }
    return value;
  }
  return std::nullopt;
}

/// The name that a part's head gives in its Content-Disposition.
std::string_view name_in_head(std::string_view head) {
  constexpr std::string_view kLineEnd = "\r\n";
  while (!head.empty()) {
    const std::string_view line = head.substr(0, head.find(kLineEnd));
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos &&
        iequals(trim_blanks(line.substr(0, colon)), "content-disposition")) {
      return parameter(line.substr(colon + 1), "name").value_or("");
    }
    head.remove_prefix(std::min(head.size(), line.size() + kLineEnd.size()));
  }
  return {};
}

std::unexpected<Error> malformed(std::string_view what) {
  return bad_request("the multipart/form-data body is malformed: " + std::string(what) +
                     "; send each field as one part between the boundaries of the Content-Type");
}

}  // namespace

bool is_multipart_form(std::string_view content_type) {
  return iequals(trim_blanks(content_type.substr(0, content_type.find(';'))), kMultipartForm);
}

Result<void> FormReader::begin(std::string_view content_type, std::string_view body) {
  const std::string_view boundary = parameter(content_type, "boundary").value_or("");
  if (boundary.empty() || boundary.size() > kLongestBoundary ||
      boundary.find_first_of("\"\\\r\n") != std::string_view::npos) {
    return malformed("its Content-Type names no usable boundary");
  }
  delimiter_.assign("\r\n--").append(boundary);
  body_ = body;
  at_ = 0;
  closed_ = false;
  const auto first = find_delimiter(0);
  if (!first) {
    return malformed("its boundary does not occur in it");
  }
  at_ = first->end;
  closed_ = first->closes;
  return {};
}

Result<std::optional<FormPart>> FormReader::next() {
  if (closed_) {
    return std::nullopt;
  }
  // The line end of the delimiter may already be half of the empty line that ends an empty head.
  const std::size_t head_begin = at_;
  const std::size_t head_end =
      body_.substr(0, head_begin + kLongestHead).find("\r\n\r\n", head_begin - 2);
  if (head_end == std::string_view::npos) {
    return malformed("a part's head does not end");
  }
  const std::size_t value_begin = head_end + 4;
  const auto delimiter = find_delimiter(value_begin);
  if (!delimiter) {
    return malformed("it ends before its closing boundary");
  }
  const std::size_t head_size = head_end > head_begin ? head_end - head_begin : 0;
  at_ = delimiter->end;
  closed_ = delimiter->closes;
  return FormPart{.name = name_in_head(body_.substr(head_begin, head_size)),
                  .value = body_.substr(value_begin, delimiter->begin - value_begin)};
}

std::optional<FormReader::Delimiter> FormReader::find_delimiter(std::size_t from) const {
  const std::string_view without_line_end = std::string_view(delimiter_).substr(2);
  std::size_t begin = from;
  std::size_t after = 0;
  if (from == 0 && body_.starts_with(without_line_end)) {
    after = without_line_end.size();
  } else {
    begin = body_.find(delimiter_, from);
    after = begin + delimiter_.size();
  }
  while (begin != std::string_view::npos) {
    std::string_view rest = body_.substr(after);
    if (rest.starts_with("--")) {
      return Delimiter{begin, after + 2, true};
    }
    const std::size_t spaces = std::min(rest.find_first_not_of(" \t"), rest.size());
    rest.remove_prefix(spaces);
    if (rest.starts_with("\r\n")) {
      return Delimiter{begin, after + spaces + 2, false};
    }
    begin = body_.find(delimiter_, after);  // a longer boundary that begins like ours
    after = begin + delimiter_.size();
  }
  return std::nullopt;
}

}  // namespace rolter::openai
