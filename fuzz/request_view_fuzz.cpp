// Request bodies: the first byte chooses the endpoint, the rest is the body.
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rolter/openai/error_body.h"
#include "rolter/openai/model_splice.h"
#include "rolter/openai/request_view.h"

namespace {

using rolter::openai::Endpoint;
using rolter::openai::RequestParser;
using rolter::openai::RequestView;

constexpr std::array kEndpoints = {
    Endpoint::kChatCompletions, Endpoint::kCompletions, Endpoint::kResponses, Endpoint::kMessages,
    Endpoint::kEmbeddings,      Endpoint::kPooling,     Endpoint::kRerank,    Endpoint::kScore,
    Endpoint::kAudio,           Endpoint::kTokenize,    Endpoint::kDetokenize};

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

/// The body with exactly the padding that is asked for, which looks like JSON.
struct Padded {
  explicit Padded(std::string_view text)
      : size(text.size()), bytes(std::make_unique<char[]>(size + RequestParser::kPadding)) {
    std::copy(text.begin(), text.end(), bytes.get());
    std::fill_n(bytes.get() + size, RequestParser::kPadding, ']');
  }
  [[nodiscard]] std::string_view view() const { return {bytes.get(), size}; }

  std::size_t size;
  std::unique_ptr<char[]> bytes;
};

/// Whether simdjson's own parser takes the text. It is stricter only about strings and numbers.
simdjson::error_code strict_error(const Padded& body) {
  static simdjson::dom::parser parser;
  return parser
      .parse(reinterpret_cast<const std::uint8_t*>(body.bytes.get()), body.size,
             /*realloc_if_needed=*/true)
      .error();
}

void check_against_strict_parser(const Padded& body, const rolter::Result<RequestView>& result) {
  const auto error = strict_error(body);
  if (!result || body.view().find("NaN") != std::string_view::npos ||
      body.view().find("Infinity") != std::string_view::npos || body.view().starts_with('\xEF')) {
    return;
  }
  require(error == simdjson::SUCCESS || error == simdjson::STRING_ERROR ||
          error == simdjson::NUMBER_ERROR);
}

void check_view(Endpoint endpoint, const Padded& body, const RequestView& view) {
  const auto token = view.model_token;
  require(token.offset + token.length <= body.size && token.length > 2);
  require(body.view()[token.offset] == '"' && body.view()[token.offset + token.length - 1] == '"');
  require(!view.model.empty() && view.choices > 0);
  require(view.prompt.text.size() <= 4 * body.size + 64);

  // Another name in its place is read back, and nothing else has changed.
  std::string written;
  std::string other;
  for (const auto piece :
       rolter::openai::splice_model(body.view(), view, "a \"new\" \n name", written).pieces) {
    other += piece;
  }
  RequestParser parser;
  const Padded renamed(other);
  const auto again = parser.parse(endpoint, "", renamed.view());
  require(again.has_value() && again->model == "a \"new\" \n name");
  require(again->prompt.text == view.prompt.text && again->stream == view.stream);
  require(again->prompt.root == view.prompt.root);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  static RequestParser parser;  // its scratch memory carries over from input to input
  const Endpoint endpoint = kEndpoints[data[0] % kEndpoints.size()];
  const Padded body({reinterpret_cast<const char*>(data + 1), size - 1});
  const auto result = parser.parse(endpoint, "application/json", body.view());
  check_against_strict_parser(body, result);
  if (result) {
    check_view(endpoint, body, *result);
  } else {
    require(!result.error().message.empty());
    std::string json;
    rolter::openai::append_json_string(json, result.error().message);
    require(json.size() > 2);
  }
  return 0;
}
