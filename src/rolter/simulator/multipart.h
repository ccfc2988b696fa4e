#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace rolter::simulator {

/// One part of a multipart/form-data body (RFC 7578). Views into the body.
struct FormPart {
  std::string_view name;
  std::string_view filename;  // "" = a plain field
  std::string_view content;
};

/// The parts, or nullopt when the content type names no boundary or the body is not cut by it.
[[nodiscard]] std::optional<std::vector<FormPart>> parse_multipart(std::string_view content_type,
                                                                   std::string_view body);

}  // namespace rolter::simulator
