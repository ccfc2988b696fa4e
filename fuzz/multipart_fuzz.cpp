// Forms: the first line is the Content-Type, the rest is the body.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "rolter/openai/model_splice.h"
#include "rolter/openai/multipart.h"
#include "rolter/openai/request_view.h"

namespace {

using rolter::openai::Endpoint;
using rolter::openai::RequestParser;

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t line_end = input.find('\n');
  if (line_end == std::string_view::npos) {
    return 0;
  }
  const std::string_view content_type = input.substr(0, line_end);
  const std::string_view body = input.substr(line_end + 1);
  if (!rolter::openai::is_multipart_form(content_type)) {
    return 0;  // read as JSON, which has its own target and needs padding
  }
  RequestParser parser;
  const auto view = parser.parse(Endpoint::kAudio, content_type, body);
  if (!view) {
    require(!view.error().message.empty());
    return 0;
  }
  require(body.substr(view->model_token.offset, view->model_token.length) == view->model);
  require(!view->model.empty() && !view->model_is_json);

  // Another name in its place is read back, unless it makes a boundary with what surrounds it.
  std::string written;
  std::string other;
  for (const auto piece : rolter::openai::splice_model(body, *view, "w", written).pieces) {
    other += piece;
  }
  const auto again = parser.parse(Endpoint::kAudio, content_type, other);
  require(again.has_value() && again->model == "w");
  return 0;
}
