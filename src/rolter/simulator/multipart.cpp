#include "rolter/simulator/multipart.h"

#include <algorithm>
#include <string>

#include "rolter/http/head.h"

namespace rolter::simulator {
namespace {

/// The value of `key="value"` or `key=value` among parameters that `;` separates.
std::string_view parameter(std::string_view text, std::string_view key) {
  for (std::size_t at = text.find(';'); at != std::string_view::npos; at = text.find(';')) {
    text.remove_prefix(at + 1);
    while (text.starts_with(' ')) {
      text.remove_prefix(1);
    }
    if (!http::iequals(text.substr(0, key.size()), key) || text.substr(key.size(), 1) != "=") {
      continue;
    }
    std::string_view value = text.substr(key.size() + 1);
    if (value.starts_with('"')) {
      value.remove_prefix(1);
      return value.substr(0, value.find('"'));
    }
    return value.substr(0, value.find(';'));
  }
  return {};
}

FormPart parse_part(std::string_view part) {
  FormPart parsed;
  const std::size_t end_of_head = part.find("\r\n\r\n");
  if (end_of_head == std::string_view::npos) {
    return parsed;
  }
  parsed.content = part.substr(end_of_head + 4);
  std::string_view head = part.substr(0, end_of_head);
  while (!head.empty()) {
    const std::string_view line = head.substr(0, head.find("\r\n"));
    head.remove_prefix(std::min(head.size(), line.size() + 2));
    constexpr std::string_view kField = "content-disposition:";
    if (http::iequals(line.substr(0, kField.size()), kField)) {
      parsed.name = parameter(line, "name");
      parsed.filename = parameter(line, "filename");
    }
  }
  return parsed;
}

}  // namespace

std::optional<std::vector<FormPart>> parse_multipart(std::string_view content_type,
                                                     std::string_view body) {
  const std::string_view boundary = parameter(content_type, "boundary");
  const std::string delimiter = "--" + std::string(boundary);
  if (boundary.empty() || !body.starts_with(delimiter)) {
    return std::nullopt;
  }
  std::vector<FormPart> parts;
  body.remove_prefix(delimiter.size());
  while (body.starts_with("\r\n")) {
    body.remove_prefix(2);
    const std::size_t end = body.find("\r\n" + delimiter);
    if (end == std::string_view::npos) {
      return std::nullopt;
    }
    parts.push_back(parse_part(body.substr(0, end)));
    body.remove_prefix(end + 2 + delimiter.size());
  }
  if (!body.starts_with("--")) {
    return std::nullopt;
  }
  return parts;
}

}  // namespace rolter::simulator
