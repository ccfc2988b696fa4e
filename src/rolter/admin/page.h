#pragma once

#include <string_view>

namespace rolter::admin {

/// One file of the live page, as it was in page/ when the program was built.
struct PageFile {
  std::string_view name;
  std::string_view content;

  [[nodiscard]] std::string_view content_type() const;
};

/// The file behind a path of the admin listener: "/" and "/page/NAME"; nullptr for any other.
[[nodiscard]] const PageFile* find_page_file(std::string_view path);

/// Field lines that keep the page to itself: nothing is loaded from, sent to or framed by anybody
/// else.
inline constexpr std::string_view kPageSafety =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'\r\n"
    "Referrer-Policy: no-referrer\r\n";

}  // namespace rolter::admin
