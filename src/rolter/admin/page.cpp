#include "rolter/admin/page.h"

#include <algorithm>
#include <array>

namespace rolter::admin {
namespace {

constexpr auto kFiles = std::to_array<PageFile>({
#include "rolter/admin/page_files.inc"
});

}  // namespace

std::string_view PageFile::content_type() const {
  return name.ends_with(".html")  ? "text/html; charset=utf-8"
         : name.ends_with(".css") ? "text/css; charset=utf-8"
                                  : "text/javascript; charset=utf-8";
}

const PageFile* find_page_file(std::string_view path) {
  constexpr std::string_view kFolder = "/page/";
  const std::string_view name = path == "/"                 ? "index.html"
                                : path.starts_with(kFolder) ? path.substr(kFolder.size())
                                                            : "";
  const auto* const found = std::ranges::find(kFiles, name, &PageFile::name);
  return found == kFiles.end() ? nullptr : found;
}

}  // namespace rolter::admin
