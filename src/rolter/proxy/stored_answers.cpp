#include "rolter/proxy/stored_answers.h"

#include <algorithm>

namespace rolter::proxy {
namespace {

constexpr std::size_t kMostIdBytes = 128;

bool is_id_char(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         c == '-';
}

std::string_view leading_id(std::string_view text) {
  const auto end = std::ranges::find_if_not(text, is_id_char);
  const auto size = static_cast<std::size_t>(end - text.begin());
  return size > kMostIdBytes ? std::string_view() : text.substr(0, size);
}

}  // namespace

std::string_view stored_answer_id(std::string_view body) {
  // Within a string the quotes would be escaped, so that no text of an answer looks like this.
  constexpr std::string_view kKey = R"("id":)";
  constexpr std::string_view kPrefix = R"("resp_)";
  for (std::size_t at = body.find(kKey); at != std::string_view::npos;
       at = body.find(kKey, at + 1)) {
    std::string_view value = body.substr(at + kKey.size());
    value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
    if (value.starts_with(kPrefix)) {
      const std::string_view id = leading_id(value.substr(1));
      return value.substr(1 + id.size()).starts_with('"') ? id : std::string_view();
    }
  }
  return {};
}

std::string_view stored_answer_of_path(std::string_view path) {
  constexpr std::string_view kBefore = "/v1/responses/";
  if (!path.starts_with(kBefore)) {
    return {};
  }
  path.remove_prefix(kBefore.size());
  const std::string_view id = leading_id(path);
  const std::string_view rest = path.substr(id.size());
  return rest.empty() || rest.starts_with('/') ? id : std::string_view();
}

}  // namespace rolter::proxy
